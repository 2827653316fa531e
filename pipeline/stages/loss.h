// A stage's loss, and the decision whether the stage learns from a sample.
//
// The device computes and the host decides. So a loss can be captured together with the forward,
// and the host waits only for the numbers that it decides by.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include <ATen/core/Tensor.h>

#include "pipeline/nn/layer.h"

namespace millrace::pipeline {

/// A stage's output for a sample.
struct StageOutput {
  int stage = 0;
  /// Its number in the stream.
  std::int64_t sample = 0;
  /// The camera's input.
  const at::Tensor& input;
  const at::Tensor& output;
};

/// The result of a loss. The tensors are valid until the sample's forward is over; a caller that
/// needs them longer must copy them.
struct LossValue {
  /// The scalar to minimise. Undefined if the stage has nothing to learn.
  at::Tensor objective;
  /// Further values for the decision, without a graph.
  Tensors figures = {};
};

/// A loss and its decision. A stage makes its calls on its own thread, in the order of the samples;
/// several stages may call concurrently.
class Loss {
 public:
  virtual ~Loss() = default;

  /// Called before the forward. False: the stage does not learn from the sample, and Compute() is
  /// left out if that saves time.
  [[nodiscard]] virtual bool MayLearn(std::int64_t /*sample*/) { return true; }
  /// Called again if a backward repeats the forward with the current weights.
  [[nodiscard]] virtual LossValue Compute(const StageOutput& output) = 0;
  /// Publishes the prediction, and decides whether the stage learns from the sample. Called once
  /// for each sample that it may learn from.
  [[nodiscard]] virtual bool OnPredicted(const StageOutput& /*output*/,
                                         const LossValue& /*value*/) {
    return true;
  }
  /// Whether Compute() reads only the two tensors, so that a CUDA graph can repeat it.
  [[nodiscard]] virtual bool capturable() const { return false; }
};

/// A loss that is one function, and learns from each sample. REQUIRES: if the network captures its
/// operations, the function reads only the two tensors.
class FunctionLoss final : public Loss {
 public:
  using Objective = std::function<at::Tensor(const StageOutput&)>;
  using Observe = std::function<void(const StageOutput&, const LossValue&)>;

  /// `on_predicted` may be empty.
  explicit FunctionLoss(Objective objective, Observe on_predicted = {})
      : objective_(std::move(objective)), on_predicted_(std::move(on_predicted)) {}

  [[nodiscard]] LossValue Compute(const StageOutput& output) override {
    return {.objective = objective_(output)};
  }
  [[nodiscard]] bool OnPredicted(const StageOutput& output, const LossValue& value) override {
    if (on_predicted_) on_predicted_(output, value);
    return true;
  }
  [[nodiscard]] bool capturable() const override { return true; }

 private:
  const Objective objective_;
  const Observe on_predicted_;
};

}  // namespace millrace::pipeline
