// Optimizer steps for which LibTorch has no fused kernel, with many parameters in a launch.
#pragma once

#include "pipeline/ops/cuda/body.h"

// NOLINTBEGIN(bugprone-implicit-widening-of-multiplication-result): an Index reaches every element.
namespace millrace::pipeline::gpu {

/// Dense parameters and their optimizer states, in the same layout. One element is a number of a
/// parameter, counted over all parameters in order.
struct StepTensors {
  static constexpr int kMaxTensors = 32;

  Index ends[kMaxTensors] = {};  // The end of each parameter, in elements.
  float* values[kMaxTensors] = {};
  float* gradients[kMaxTensors] = {};
  float* states[kMaxTensors] = {};
  // In the device's memory: the learning rate, and whether the step is refused (nonzero).
  const float* rate = nullptr;
  const float* refused = nullptr;
  float weight_decay = 0;
};

/// A number of a parameter, its gradient including weight decay, and its optimizer state.
struct StepNumber {
  float& value;
  float& state;
  float& given;  ///< The gradient in memory.
  float gradient;
  int index;  ///< Of the parameter.

  MILLRACE_BODY StepNumber(const StepTensors& tensors, int tensor, Index place)
      : value(tensors.values[tensor][place]),
        state(tensors.states[tensor][place]),
        given(tensors.gradients[tensor][place]),
        gradient(tensors.gradients[tensor][place] +
                 tensors.weight_decay * tensors.values[tensor][place]),
        index(tensor) {}

  [[nodiscard]] MILLRACE_BODY static StepNumber At(const StepTensors& tensors, Index element) {
    int tensor = 0;
    while (element >= tensors.ends[tensor]) ++tensor;
    return {tensors, tensor, element - (tensor == 0 ? 0 : tensors.ends[tensor - 1])};
  }
};

/// See kernels::RmsPropStep.
struct RmsPropBody {
  StepTensors tensors = {};
  float decay = 0;
  float eps = 0;
  /// Puts the update in place of the gradient, for ClippedStepBody.
  bool clipped = false;

  MILLRACE_BODY void operator()(Index i) const {
    if (*tensors.refused != 0) return;
    const StepNumber number = StepNumber::At(tensors, i);
    number.state = decay * number.state + (1 - decay) * number.gradient * number.gradient;
    const float update = number.gradient / (std::sqrt(number.state) + eps);
    if (clipped) {
      number.given = update;
    } else {
      number.value -= *tensors.rate * update;
    }
  }
};

/// Steps by the updates that are in place of the gradients, after RmsPropBody and the norms. An
/// update whose root mean square over its tensor is above `clip` is scaled down to it.
struct ClippedStepBody {
  StepTensors tensors = {};
  const float* norms = nullptr;  // Of each tensor's update.
  float clip = 0;

  MILLRACE_BODY void operator()(Index i) const {
    if (*tensors.refused != 0) return;
    const StepNumber number = StepNumber::At(tensors, i);
    const int tensor = number.index;
    const Index count = tensors.ends[tensor] - (tensor == 0 ? 0 : tensors.ends[tensor - 1]);
    const float largest = clip * std::sqrt(static_cast<float>(count));
    const float norm = norms[tensor];
    number.value -= *tensors.rate * (norm > largest ? largest / norm : 1.0F) * number.given;
  }
};

/// SGD with momentum and spike compensation (optimizer_options.h).
struct CompensatedSgdBody {
  StepTensors tensors = {};
  float momentum = 0;
  float of_velocity = 0;
  float of_gradient = 0;

  MILLRACE_BODY void operator()(Index i) const {
    if (*tensors.refused != 0) return;
    const StepNumber number = StepNumber::At(tensors, i);
    number.state = momentum * number.state + number.gradient;
    number.value -= *tensors.rate * (of_gradient * number.gradient + of_velocity * number.state);
  }
};

}  // namespace millrace::pipeline::gpu
// NOLINTEND(bugprone-implicit-widening-of-multiplication-result)
