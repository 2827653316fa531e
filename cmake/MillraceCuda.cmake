# Enables the language CUDA if an nvcc of LibTorch's CUDA works here; otherwise sets MILLRACE_WHY_NO_KERNELS to the reason.
set(millrace_cuda_major 13) # The version of LibTorch's CUDA runtime, which runs the code of nvcc.
set(MILLRACE_WHY_NO_KERNELS "")

# millrace_leave_kernels_out(<why>): fails if MILLRACE_WITH_CUDA requires the kernels.
macro(millrace_leave_kernels_out why)
  set(MILLRACE_WHY_NO_KERNELS "${why}")
  if(MILLRACE_WITH_CUDA)
    message(FATAL_ERROR "${why}: install CUDA ${millrace_cuda_major} with its headers, set CUDA_HOME to its folder (or CMAKE_CUDA_COMPILER to its nvcc, in a new build folder), or leave MILLRACE_WITH_CUDA off")
  endif()
  message(STATUS "Kernels for GPUs are left out: ${why}")
  file(REMOVE ${PROJECT_BINARY_DIR}/lib/libmillrace_cuda_kernels.so) # From an earlier build.
endmacro()

# millrace_add_cuda_module(<name> <file>...): a module that the program loads after LibTorch's part for CUDA. The build needs only LibTorch's
# headers; the symbols are there when the program loads it. There are two modules (millrace_cuda, millrace_cuda_kernels): if the version of
# CUDA's runtime is not nvcc's, only the kernels are lost.
function(millrace_add_cuda_module name)
  add_library(${name} MODULE ${ARGN})
  set_target_properties(${name} PROPERTIES
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib
    CUDA_RUNTIME_LIBRARY None LINKER_LANGUAGE CXX) # CUDA's runtime is LibTorch's.
  target_compile_options(${name} PRIVATE "SHELL:-idirafter ${LIBTORCH_CUDA_INCLUDE}")
  target_link_libraries(${name} PRIVATE millrace::options LibTorch::headers absl::strings)
  install(TARGETS ${name} LIBRARY DESTINATION lib/millrace)
endfunction()

if(MILLRACE_STRICT_TARGETS_ONLY)
  return()
endif()

# A compiler that the user names has priority. CMake searches other compilers again each time.
if(CMAKE_CUDA_COMPILER)
  set(millrace_nvcc "${CMAKE_CUDA_COMPILER}")
elseif(NOT "$ENV{CUDACXX}" STREQUAL "")
  separate_arguments(millrace_nvcc UNIX_COMMAND "$ENV{CUDACXX}")
else()
  # The last path is that of set-up, which downloads nvcc with LibTorch's part for CUDA.
  find_program(millrace_nvcc nvcc HINTS ENV CUDA_HOME PATH_SUFFIXES bin
    PATHS /usr/local/cuda/bin ${PROJECT_SOURCE_DIR}/.deps/libtorch/nvidia/cu13/bin NO_CACHE)
endif()
if(NOT millrace_nvcc)
  millrace_leave_kernels_out("there is no CUDA toolkit (nvcc)")
  return()
endif()

execute_process(COMMAND ${millrace_nvcc} --version
  RESULT_VARIABLE millrace_nvcc_failed OUTPUT_VARIABLE millrace_nvcc_says ERROR_QUIET)
if(millrace_nvcc_failed OR NOT "${millrace_nvcc_says}" MATCHES "release ([0-9]+)")
  millrace_leave_kernels_out("${millrace_nvcc} does not run, or is no nvcc")
  return()
elseif(NOT CMAKE_MATCH_1 EQUAL millrace_cuda_major)
  millrace_leave_kernels_out("${millrace_nvcc} is of CUDA ${CMAKE_MATCH_1}, not of LibTorch's ${millrace_cuda_major}")
  return()
endif()

# Tries the toolkit once, in a separate project: a broken toolkit must not stop a build that does not need it.
if(NOT EXISTS ${CMAKE_BINARY_DIR}/CMakeFiles/${CMAKE_VERSION}/CMakeCUDACompiler.cmake)
  if(CMAKE_CUDA_HOST_COMPILER)
    set(ENV{CUDAHOSTCXX} "${CMAKE_CUDA_HOST_COMPILER}")
  endif()
  list(JOIN millrace_nvcc " " millrace_nvcc)
  set(ENV{CUDACXX} "${millrace_nvcc}")
  unset(CMAKE_CUDA_COMPILER)
  unset(CMAKE_CUDA_COMPILER CACHE)
  include(CheckLanguage)
  check_language(CUDA)
  if(NOT CMAKE_CUDA_COMPILER)
    unset(CMAKE_CUDA_COMPILER CACHE)
    millrace_leave_kernels_out("${millrace_nvcc} compiles nothing here (CMakeFiles/CMakeError.log says why)")
    return()
  endif()
endif()

# A100; H100 and H200; B200. Newer GPUs translate the code of the newest.
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80 90 100)
endif()
# CMake 3.25 does not know that CUDA 13 supports C++20.
set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
set(CMAKE_CUDA_STANDARD 20)
enable_language(CUDA)
