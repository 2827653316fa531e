// What a step of an optimizer on a GPU goes by: numbers in that GPU's memory. So the host waits for
// none of them, and a step that was captured is done again with others.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace millrace::pipeline {

/// Each is of no dimension, on the device. Not thread-safe, but for refusals().
class DeviceStep {
 public:
  explicit DeviceStep(at::Device device);

  /// For the next step.
  void set_rate(double learning_rate) { rate_.fill_(learning_rate); }
  [[nodiscard]] const at::Tensor& rate() const { return rate_; }

  /// Decides whether the step at hand is refused, because a value of one of them is not below
  /// 2^`exponent`, or no number; counts it then. REQUIRES: there is one.
  void Judge(const std::vector<at::Tensor>& gradients, const std::vector<at::Tensor>& values,
             int exponent);
  /// 1 where the step at hand is refused, else 0: `found_inf` of LibTorch's fused kernels.
  [[nodiscard]] const at::Tensor& refused() const { return refused_; }
  /// `value`, or `otherwise` where the step at hand is refused.
  [[nodiscard]] at::Tensor Unless(double value, double otherwise) const;
  /// The learning rate, or 0 where the step at hand is refused.
  [[nodiscard]] at::Tensor RateUnless() const;
  /// Makes them zero where the step at hand is refused.
  void ClearRefused(const std::vector<at::Tensor>& gradients) const;

  /// How many were refused. Waits for the stream of the thread that calls, not for a stage's: it
  /// may be told of one a little late.
  [[nodiscard]] std::int64_t refusals() const { return refusals_.item<std::int64_t>(); }
  void set_refusals(std::int64_t count) { refusals_.fill_(count); }

 private:
  at::Tensor rate_;        // float32, as the fused kernels want it.
  at::Tensor refused_;     // float32, likewise.
  at::Tensor is_refused_;  // bool.
  at::Tensor refusals_;    // int64.
};

}  // namespace millrace::pipeline
