// Launches optimizer steps on a GPU.
#pragma once

#include <cstddef>
#include <vector>

#include <ATen/core/Tensor.h>

#include "absl/functional/function_ref.h"
#include "pipeline/ops/cuda/launcher.h"
#include "pipeline/optim/device_step.h"

namespace millrace::pipeline::gpu {

/// The parameters with their gradients and states. Borrowed.
struct StepLists {
  const std::vector<at::Tensor>& values;
  const std::vector<at::Tensor>& gradients;
  const std::vector<at::Tensor>& states;
};

/// Whether LaunchSteps() may be called: kernels exist for these sizes, all tensors are float32 and
/// dense, and each has its parameter's layout.
[[nodiscard]] bool HasSteps(const StepLists& lists);

/// Launches `body` for all parameters, in as many launches as needed. `first`: the place in the
/// lists of a launch's first parameter. REQUIRES: HasSteps().
void LaunchSteps(const StepLists& lists, const DeviceStep& step, double weight_decay,
                 absl::FunctionRef<Body(const StepTensors&, std::size_t first)> body);

}  // namespace millrace::pipeline::gpu
