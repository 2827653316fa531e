#include "pipeline/device/core_speed.h"

#include <algorithm>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/mm.h>

#include "pipeline/device/device_time.h"
#include "pipeline/device/one_thread.h"

namespace millrace::pipeline {
namespace {

// A 3x3 convolution from 16 channels to 128 at 32x32, as a matrix product.
constexpr int kRows = 128;
constexpr int kInner = 144;
constexpr int kColumns = 1024;
constexpr int kProducts = 2;

}  // namespace

Yardstick::Yardstick()
    : weights_(at::full({kRows, kInner}, 0.01)),
      values_(at::full({kInner, kColumns}, 0.5)),
      made_(at::empty({kRows, kColumns})) {}

double Yardstick::RunMs() {
  const OneThread one_thread;
  const at::NoGradGuard no_graph;
  return MillisecondsOf(at::kCPU, [&] {
    for (int product = 0; product < kProducts; ++product) {
      at::mm_out(made_, weights_, values_);
      at::leaky_relu_(made_, 0.1);
    }
  });
}

double FastestCore::SlownessOf(double ms) {
  if (ms <= 0) return 1;
  const MutexLock lock(mu_);
  min_ms_ = std::min(min_ms_, ms);
  return ms / min_ms_;
}

FastestCore& FastestCoreOfThisProgram() {
  static FastestCore fastest;
  return fastest;
}

}  // namespace millrace::pipeline
