# Sets CMAKE_CUDA_COMPILER where there is a CUDA toolkit that fits LibTorch, as far as kernels need one.
set(millrace_cuda_major 13) # Of LibTorch's CUDA runtime, which runs what nvcc makes.

find_program(MILLRACE_NVCC nvcc HINTS ENV CUDA_HOME PATH_SUFFIXES bin PATHS /usr/local/cuda/bin)
mark_as_advanced(MILLRACE_NVCC)
set(millrace_why_no_nvcc "there is no CUDA toolkit (nvcc)")
if(MILLRACE_NVCC)
  execute_process(COMMAND ${MILLRACE_NVCC} --version OUTPUT_VARIABLE millrace_nvcc_says ERROR_QUIET)
  string(REGEX MATCH "release ([0-9]+)" millrace_nvcc_release "${millrace_nvcc_says}")
  set(millrace_why_no_nvcc "")
  if(NOT CMAKE_MATCH_1 EQUAL millrace_cuda_major)
    set(millrace_why_no_nvcc "${MILLRACE_NVCC} is of CUDA '${CMAKE_MATCH_1}', not of LibTorch's ${millrace_cuda_major}")
  endif()
endif()

if(MILLRACE_STRICT_TARGETS_ONLY)
  return()
elseif(millrace_why_no_nvcc AND MILLRACE_WITH_CUDA)
  message(FATAL_ERROR "${millrace_why_no_nvcc}: install CUDA ${millrace_cuda_major}, set CUDA_HOME to its folder, or leave MILLRACE_WITH_CUDA off")
elseif(millrace_why_no_nvcc)
  message(STATUS "Kernels for GPUs are left out: ${millrace_why_no_nvcc}")
  return()
endif()

set(CMAKE_CUDA_COMPILER ${MILLRACE_NVCC})
# A100; H100 and H200; B200. Newer ones translate what is there for the newest.
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80 90 100)
endif()
# CMake 3.25 does not know that CUDA 13 speaks it.
set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
set(CMAKE_CUDA_STANDARD 20)
enable_language(CUDA)
