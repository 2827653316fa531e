#include "pipeline/flow/next_frame.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>

namespace millrace::pipeline {

FlowLoss ComputeNextFrameLoss(const at::Tensor& pictures, const at::Tensor& flow,
                              const FlowLossOptions& options) {
  const at::Tensor came_and_before =
      at::cat({pictures.narrow(0, 2, 1), pictures.narrow(0, 1, 1)}, 0);
  return ComputeFlowLoss(came_and_before, -flow.narrow(0, 0, 1), options);
}

}  // namespace millrace::pipeline
