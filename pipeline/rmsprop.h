// RMSprop without momentum: the optimizer of a stage.
//
// Momentum hurts on a stream, whose frames are so alike that it keeps pushing where the last ones
// went; dividing by the size of recent gradients is what helps.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace millrace::pipeline {

/// Updates parameters in place from their gradients:
///
///   square = 0.99 square + 0.01 gradient^2
///   value  = value - learning_rate gradient / (sqrt(square) + 1e-8)
///
/// Updates leave autograd's version counters alone, so a graph that an older sample stored can
/// still go backward: it then meets the newest weights.
///
/// Not thread-safe. Shares the parameters with their layers, which may go first.
class RmsProp {
 public:
  /// `parameters`: leaves that require gradients.
  RmsProp(std::vector<at::Tensor> parameters, double learning_rate);

  RmsProp(const RmsProp&) = delete;
  RmsProp& operator=(const RmsProp&) = delete;
  RmsProp(RmsProp&&) = default;
  RmsProp& operator=(RmsProp&&) = default;

  /// Applies the gradients and zeroes them. If any value of any of them is not finite, changes no
  /// parameter, counts the update as skipped and returns false. A parameter that has no gradient
  /// stays as it is.
  bool Step();

  void set_learning_rate(double learning_rate) { learning_rate_ = learning_rate; }
  [[nodiscard]] double learning_rate() const { return learning_rate_; }

  /// Calls of Step() that updated, and that did not.
  [[nodiscard]] std::int64_t updates() const { return updates_; }
  [[nodiscard]] std::int64_t skipped() const { return skipped_; }

  /// `square` of each parameter, in their order. Writing into them restores a state.
  [[nodiscard]] const std::vector<at::Tensor>& squares() const { return squares_; }

 private:
  double learning_rate_;
  std::vector<at::Tensor> parameters_;
  // The same memory as parameters_, but with version counters of their own.
  std::vector<at::Tensor> values_;
  std::vector<at::Tensor> squares_;
  std::int64_t updates_ = 0;
  std::int64_t skipped_ = 0;
};

}  // namespace millrace::pipeline
