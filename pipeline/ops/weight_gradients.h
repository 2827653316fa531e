// Gradients of weights that a backward leaves for later: the second half of a split backward.
//
// The stages before wait for the gradient of a stage's input, and not for those of its weights. An
// operator that can compute the two apart leaves the second here. Every other operator computes
// both at once, and its stage hands the gradient on later.
#pragma once

#include <functional>
#include <vector>

#include <ATen/core/Tensor.h>

namespace millrace::pipeline {

/// What the backwards of one sample have left. For one thread at a time.
class WeightGradients {
 public:
  /// The gradients of some parameters, in their order. An undefined tensor: there is none.
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

  /// For the backward of an operator: where it may leave the gradients of `parameters`. Null: it
  /// computes them. So it is outside of any scope, and if a parameter is no leaf of the graph.
  [[nodiscard]] static WeightGradients* LaterFor(const std::vector<at::Tensor>& parameters);

  /// `compute` reads no weights, because an update may come first.
  void Leave(std::vector<at::Tensor> parameters, Compute compute);

  /// Adds what was left to the parameters' gradients, in the order of the backward. A second call
  /// adds it again.
  void AddToParameters() const;

 private:
  struct Left {
    std::vector<at::Tensor> parameters;
    Compute compute;
  };

  std::vector<Left> left_;
};

}  // namespace millrace::pipeline
