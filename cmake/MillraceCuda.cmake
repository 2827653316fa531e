# Sets CMAKE_CUDA_COMPILER where there is a CUDA toolkit that fits LibTorch, as far as kernels need one.
find_program(MILLRACE_NVCC nvcc HINTS ENV CUDA_HOME PATH_SUFFIXES bin PATHS /usr/local/cuda/bin)
mark_as_advanced(MILLRACE_NVCC)
if(MILLRACE_NVCC AND NOT MILLRACE_STRICT_TARGETS_ONLY)
  set(CMAKE_CUDA_COMPILER ${MILLRACE_NVCC})
  # A100; H100 and H200; B200. Others translate what is there for the newest of them that is older.
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80 90 100)
  endif()
  # CMake 3.25 does not know that CUDA 13 speaks it.
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA_STANDARD 20)
  enable_language(CUDA)
elseif(MILLRACE_WITH_CUDA)
  message(FATAL_ERROR "there is no CUDA toolkit (nvcc): install one, set CUDA_HOME to its folder, or leave MILLRACE_WITH_CUDA off")
endif()
