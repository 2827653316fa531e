#include "pipeline/device/device_graphs.h"

#include <utility>

#include "base/mutex.h"
#include "base/status.h"

namespace millrace::pipeline {
namespace {

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

}  // namespace millrace::pipeline
