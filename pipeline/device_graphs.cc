#include "pipeline/device_graphs.h"

#include <dlfcn.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "base/status.h"

namespace millrace::pipeline {
namespace {

// Found by the run path of the program.
constexpr const char* kLibrary = "libmillrace_cuda.so";

struct Maker {
  Mutex mu;
  absl::StatusOr<MakeGraphPool> make ABSL_GUARDED_BY(mu) =
      absl::FailedPreconditionError("LibTorch's part for CUDA is not loaded");
};

Maker& TheMaker() {
  static Maker maker;
  return maker;
}

}  // namespace

absl::StatusOr<std::unique_ptr<GraphPool>> NewGraphPool(at::Device device) {
  Maker& maker = TheMaker();
  const MutexLock lock(maker.mu);
  MILLRACE_RETURN_IF_ERROR(maker.make.status());
  return std::unique_ptr<GraphPool>((*maker.make)(device));
}

void SetGraphPools(absl::StatusOr<MakeGraphPool> make) {
  Maker& maker = TheMaker();
  const MutexLock lock(maker.mu);
  maker.make = std::move(make);
}

absl::StatusOr<MakeGraphPool> LoadCudaGraphs() {
  void* const library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat("CUDA graphs cannot be loaded: ", dlerror()));
  }
  void* const make = dlsym(library, "MillraceNewCudaGraphPool");
  if (make == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat(kLibrary, " is not of this program: ", dlerror()));
  }
  return reinterpret_cast<MakeGraphPool>(make);
}

}  // namespace millrace::pipeline
