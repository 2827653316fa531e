// The gradients of weights that a backward leaves for later: the second half of a split backward.
//
// The stages before wait for the gradient of a stage's input, and not for those of its weights. An
// operator that can compute the two apart leaves the second here. Every other operator computes
// both at once, and its stage hands the gradient on later.
#pragma once

#include <functional>
#include <vector>

#include <ATen/core/Tensor.h>

namespace millrace::pipeline {

/// The gradients that the backward of one sample has left. For one thread at a time.
///
/// A weight that several operators use gets one gradient after the other, in the order of the
/// backward. Autograd adds them up first. So the sums over several samples may differ in their last
/// bits.
class WeightGradients {
 public:
  /// Returns the gradients of some parameters, in their order. Undefined: this one has no gradient.
  using Compute = std::function<std::vector<at::Tensor>()>;

  /// A scope guard: backwards on this thread leave the gradients of weights to `later`, or compute
  /// them if it is null.
  class Scope {
   public:
    explicit Scope(WeightGradients* later);
    ~Scope();

    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    WeightGradients* const outside_;
  };

  /// For the backward of an operator: where it may leave the gradients of `parameters`. Null
  /// outside of any scope, or if a parameter is no leaf of the graph or needs no gradient. The
  /// operator then computes the gradients at once.
  [[nodiscard]] static WeightGradients* LaterFor(const std::vector<at::Tensor>& parameters);

  /// REQUIRES: `compute` reads no weights, because an update may come first.
  void Leave(std::vector<at::Tensor> parameters, Compute compute);

  /// Adds the gradients that were left to those of the parameters, in the order of the backward. A
  /// second call adds them again.
  void AddToParameters() const;

 private:
  struct Left {
    std::vector<at::Tensor> parameters;
    Compute compute;
  };

  std::vector<Left> left_;
};

}  // namespace millrace::pipeline
