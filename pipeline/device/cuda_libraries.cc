#include "pipeline/device/cuda_libraries.h"

#include <dlfcn.h>

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "pipeline/device/device_graphs.h"
#include "pipeline/ops/cuda/launcher.h"

namespace millrace::pipeline {
namespace {

// The program's run path leads to the library.
absl::StatusOr<void*> Symbol(const std::string& library, const char* name) {
  void* const loaded = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loaded == nullptr) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): glibc's text belongs to the thread.
    return absl::FailedPreconditionError(absl::StrCat(library, " cannot be loaded: ", dlerror()));
  }
  if (void* const symbol = dlsym(loaded, name); symbol != nullptr) return symbol;
  return absl::FailedPreconditionError(
      // NOLINTNEXTLINE(concurrency-mt-unsafe): glibc's text belongs to the thread.
      absl::StrCat(library, " is not of this program: ", dlerror()));
}

absl::StatusOr<MakeGraphPool> FindGraphPools() {
  MILLRACE_ASSIGN_OR_RETURN(void* const make,
                            Symbol("libmillrace_cuda.so", "MillraceNewCudaGraphPool"));
  return reinterpret_cast<MakeGraphPool>(make);
}

// If the build left the kernels out, it recorded the reason.
absl::StatusOr<void*> FindKernelsBuilt() {
  const std::string why_none = MILLRACE_WHY_NO_KERNELS;
  if (why_none.empty()) return Symbol("libmillrace_cuda_kernels.so", "MillraceCudaKernels");
  return absl::FailedPreconditionError(absl::StrCat("the program was built without: ", why_none));
}

void FindKernels() {
  const absl::StatusOr<void*> kernels = FindKernelsBuilt();
  if (kernels.ok()) {
    gpu::SetKernels(static_cast<const gpu::Kernels*>(*kernels));
  } else {
    gpu::SetNoKernels(std::string(kernels.status().message()));
  }
}

}  // namespace

void LoadCudaLibraries() {
  SetGraphPools(FindGraphPools());
  FindKernels();
}

}  // namespace millrace::pipeline
