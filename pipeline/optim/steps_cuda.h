// Launches steps of optimizers on a GPU.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include "absl/functional/function_ref.h"
#include "pipeline/ops/cuda/launcher.h"
#include "pipeline/optim/device_step.h"

namespace millrace::pipeline::gpu {

/// The parameters, and what there is for each. Borrowed.
struct StepLists {
  const std::vector<at::Tensor>& values;
  const std::vector<at::Tensor>& gradients;
  const std::vector<at::Tensor>& states;
};

/// Whether LaunchSteps() may be called: there are kernels for as many numbers, and all tensors are
/// float32, dense, and lie as their parameter does.
[[nodiscard]] bool HasSteps(const StepLists& lists);

/// Launches `body` of as many parameters as a launch takes, as often as needed. REQUIRES:
/// HasSteps().
void LaunchSteps(const StepLists& lists, const DeviceStep& step, double weight_decay,
                 absl::FunctionRef<Body(const StepTensors&)> body);

}  // namespace millrace::pipeline::gpu
