#include "pipeline/cuda_library.h"

#include <dlfcn.h>

#include "absl/strings/str_cat.h"
#include "pipeline/device_graphs.h"
#include "pipeline/gpu/launch.h"

namespace millrace::pipeline {
namespace {

// Found by the run path of the program.
constexpr const char* kLibrary = "libmillrace_cuda.so";

}  // namespace

void LoadCudaLibrary() {
  void* const library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    SetGraphPools(
        absl::FailedPreconditionError(absl::StrCat("CUDA graphs cannot be loaded: ", dlerror())));
    return;
  }
  if (void* const make = dlsym(library, "MillraceNewCudaGraphPool"); make != nullptr) {
    SetGraphPools(reinterpret_cast<MakeGraphPool>(make));
  } else {
    SetGraphPools(absl::FailedPreconditionError(
        absl::StrCat(kLibrary, " is not of this program: ", dlerror())));
  }
  // There is none where it was built without a toolkit.
  gpu::SetKernels(static_cast<const gpu::Kernels*>(dlsym(library, "MillraceCudaKernels")));
}

}  // namespace millrace::pipeline
