// Computes in a network's precision (precision.h).
#pragma once

#include <ATen/autocast_mode.h>

#include "pipeline/nn/layer.h"

namespace millrace::pipeline {

/// During its lifetime, the calling thread computes on the device in bfloat16 where that is
/// accurate enough. Weights are converted at each use, because a captured CUDA graph must not read
/// an older converted copy.
class Autocast {
 public:
  explicit Autocast(at::DeviceType device)
      : device_(device),
        was_enabled_(at::autocast::is_autocast_enabled(device)),
        was_cached_(at::autocast::is_autocast_cache_enabled()),
        was_(at::autocast::get_autocast_dtype(device)) {
    at::autocast::set_autocast_enabled(device, true);
    at::autocast::set_autocast_cache_enabled(false);
    at::autocast::set_autocast_dtype(device, at::kBFloat16);
  }
  ~Autocast() {
    at::autocast::set_autocast_enabled(device_, was_enabled_);
    at::autocast::set_autocast_cache_enabled(was_cached_);
    at::autocast::set_autocast_dtype(device_, was_);
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

  /// Converts a layer's outputs to float32.
  static void ToFloat(LayerValues& outputs) {
    outputs.main = InFloat(outputs.main);
    for (at::Tensor& skip : outputs.skips) skip = InFloat(skip);
  }

 private:
  [[nodiscard]] static at::Tensor InFloat(const at::Tensor& tensor) {
    return tensor.scalar_type() == at::kBFloat16 ? tensor.to(at::kFloat) : tensor;
  }

  const at::DeviceType device_;
  const bool was_enabled_;
  const bool was_cached_;
  const at::ScalarType was_;
};

}  // namespace millrace::pipeline
