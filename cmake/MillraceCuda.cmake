# Enables the language CUDA where there is a compiler that fits LibTorch, as far as kernels need one; else
# MILLRACE_WHY_NO_KERNELS says why not.
set(millrace_cuda_major 13) # Of LibTorch's CUDA runtime, which runs what nvcc makes.
set(MILLRACE_WHY_NO_KERNELS "")
if(MILLRACE_STRICT_TARGETS_ONLY)
  return()
endif()

# A compiler that the user has named goes first.
find_program(MILLRACE_NVCC nvcc HINTS ENV CUDA_HOME PATH_SUFFIXES bin PATHS /usr/local/cuda/bin)
mark_as_advanced(MILLRACE_NVCC)
set(millrace_nvcc "${MILLRACE_NVCC}")
if(CMAKE_CUDA_COMPILER)
  set(millrace_nvcc "${CMAKE_CUDA_COMPILER}")
elseif(DEFINED ENV{CUDACXX})
  set(millrace_nvcc "$ENV{CUDACXX}")
endif()

if(NOT millrace_nvcc)
  set(MILLRACE_WHY_NO_KERNELS "there is no CUDA toolkit (nvcc)")
else()
  execute_process(COMMAND ${millrace_nvcc} --version OUTPUT_VARIABLE millrace_nvcc_says ERROR_QUIET)
  string(REGEX MATCH "release ([0-9]+)" millrace_nvcc_release "${millrace_nvcc_says}")
  if(NOT CMAKE_MATCH_1 EQUAL millrace_cuda_major)
    set(MILLRACE_WHY_NO_KERNELS "${millrace_nvcc} is of CUDA '${CMAKE_MATCH_1}', not of LibTorch's ${millrace_cuda_major}")
  endif()
endif()

if(NOT MILLRACE_WHY_NO_KERNELS)
  # Asked in a project of its own: a toolkit that does not work must not stop a build that can do without.
  set(ENV{CUDACXX} "${millrace_nvcc}")
  include(CheckLanguage)
  if(NOT CMAKE_CUDA_COMPILER)
    unset(CMAKE_CUDA_COMPILER CACHE) # What did not work last time may work now.
  endif()
  check_language(CUDA)
  if(NOT CMAKE_CUDA_COMPILER)
    set(MILLRACE_WHY_NO_KERNELS "${millrace_nvcc} compiles nothing here")
  endif()
endif()

if(MILLRACE_WHY_NO_KERNELS AND MILLRACE_WITH_CUDA)
  message(FATAL_ERROR "${MILLRACE_WHY_NO_KERNELS}: install CUDA ${millrace_cuda_major}, set CUDA_HOME to its folder, or leave MILLRACE_WITH_CUDA off")
elseif(MILLRACE_WHY_NO_KERNELS)
  message(STATUS "Kernels for GPUs are left out: ${MILLRACE_WHY_NO_KERNELS}")
  return()
endif()

# A100; H100 and H200; B200. Newer ones translate what is there for the newest.
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80 90 100)
endif()
# CMake 3.25 does not know that CUDA 13 speaks it.
set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
set(CMAKE_CUDA_STANDARD 20)
enable_language(CUDA)
