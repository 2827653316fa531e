# Finds LibTorch: in MILLRACE_LIBTORCH (a folder with lib/ and include/), or where set-up unpacked it.
#
# Targets: LibTorch::headers, LibTorch::cpu, and LibTorch::cuda when MILLRACE_WITH_CUDA is on. We cannot use LibTorch's own package file:
# it fails without a CUDA toolkit.
set(MILLRACE_LIBTORCH "$ENV{MILLRACE_LIBTORCH}" CACHE PATH
    "Your own LibTorch: a folder with lib/ and include/. Empty: the one that set-up unpacked")
if(MILLRACE_LIBTORCH)
  set(_libtorch_root ${MILLRACE_LIBTORCH})
else()
  set(_libtorch_root ${PROJECT_SOURCE_DIR}/.deps/libtorch/torch)
endif()

set(_libtorch_names torch_cpu c10)
if(MILLRACE_WITH_CUDA)
  list(APPEND _libtorch_names torch_cuda c10_cuda)
endif()
set(_libtorch_required LIBTORCH_INCLUDE)
find_path(LIBTORCH_INCLUDE ATen/ATen.h HINTS ${_libtorch_root}/include NO_DEFAULT_PATH)
# CUDA's runtime headers, which the wheels contain.
find_path(LIBTORCH_CUDA_INCLUDE cuda_runtime_api.h
  HINTS ${_libtorch_root}/../nvidia/cu13/include ENV CUDA_HOME PATH_SUFFIXES include
  PATHS /usr/local/cuda/include)
foreach(_name IN LISTS _libtorch_names)
  find_library(LIBTORCH_${_name} ${_name} HINTS ${_libtorch_root}/lib NO_DEFAULT_PATH)
  list(APPEND _libtorch_required LIBTORCH_${_name})
endforeach()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibTorch REQUIRED_VARS ${_libtorch_required}
  REASON_FAILURE_MESSAGE "run tools/setup, or set MILLRACE_LIBTORCH to a folder with lib/ and include/")

if(LibTorch_FOUND AND NOT TARGET LibTorch::cpu)
  # -idirafter: the folder also holds other versions of protobuf's and fmt's headers, which must not
  # shadow the system's.
  add_library(LibTorch::headers INTERFACE IMPORTED)
  target_compile_options(LibTorch::headers INTERFACE
    "SHELL:-idirafter ${LIBTORCH_INCLUDE}"
    "SHELL:-idirafter ${LIBTORCH_INCLUDE}/torch/csrc/api/include")
  add_library(LibTorch::cpu INTERFACE IMPORTED)
  target_link_libraries(LibTorch::cpu INTERFACE
    LibTorch::headers ${LIBTORCH_torch_cpu} ${LIBTORCH_c10})
  # libtorch_cpu names symbols of CUDA's libraries that a run on the CPU never calls.
  target_link_options(LibTorch::cpu INTERFACE -Wl,--allow-shlib-undefined)
  if(MILLRACE_WITH_CUDA)
    find_package(CUDAToolkit REQUIRED)
    add_library(LibTorch::cuda INTERFACE IMPORTED)
    # torch_cuda registers its kernels when it is loaded: without this the linker would leave it out.
    target_link_libraries(LibTorch::cuda INTERFACE LibTorch::cpu
      -Wl,--no-as-needed ${LIBTORCH_torch_cuda} ${LIBTORCH_c10_cuda} -Wl,--as-needed CUDA::cudart)
  endif()
endif()
