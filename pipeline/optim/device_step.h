// The inputs of an optimizer step on a GPU, in that GPU's memory. So the host does not wait for
// them, and a captured step can run again with other values.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace millrace::pipeline {

/// All tensors are scalars on the device. Not thread-safe, except refusals().
class DeviceStep {
 public:
  explicit DeviceStep(at::Device device);

  /// Sets the learning rate of the next step.
  void set_rate(double learning_rate) { rate_.fill_(learning_rate); }
  [[nodiscard]] const at::Tensor& rate() const { return rate_; }

  /// Refuses the current step if a value is NaN or not below 2^`exponent`, and counts the refusal.
  /// REQUIRES: neither list is empty.
  void Check(const std::vector<at::Tensor>& gradients, const std::vector<at::Tensor>& values,
             int exponent);
  /// 1 if the current step is refused, otherwise 0: `found_inf` of LibTorch's fused kernels.
  [[nodiscard]] const at::Tensor& refused() const { return refused_; }
  /// `value`, or `otherwise` if the current step is refused.
  [[nodiscard]] at::Tensor Unless(double value, double otherwise) const;
  /// The learning rate, or 0 if the current step is refused.
  [[nodiscard]] at::Tensor RateUnless() const;
  /// Sets `tensor` to `before` if the current step is refused.
  void UndoIfRefused(const at::Tensor& tensor, const at::Tensor& before) const;
  /// Sets the gradients to zero if the current step is refused.
  void ClearRefused(const std::vector<at::Tensor>& gradients) const;

  /// The number of refused steps. Waits for the stream of the calling thread, not for a stage's
  /// stream, so it may count a refusal a little late.
  [[nodiscard]] std::int64_t refusals() const { return refusals_.item<std::int64_t>(); }
  void set_refusals(std::int64_t count) { refusals_.fill_(count); }

 private:
  at::Tensor rate_;        // float32, as the fused kernels require.
  at::Tensor refused_;     // float32, likewise.
  at::Tensor is_refused_;  // bool.
  at::Tensor refusals_;    // int64.
};

}  // namespace millrace::pipeline
