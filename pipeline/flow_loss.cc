#include "pipeline/flow_loss.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/where.h>

#include "base/check.h"
#include "pipeline/warp.h"

namespace millrace::pipeline {
namespace {

constexpr double kCharbonnierEpsilon = 1e-3;
constexpr double kEdgeSharpness = 10;

at::Tensor Charbonnier(const at::Tensor& difference) {
  return (difference.square() + kCharbonnierEpsilon * kCharbonnierEpsilon).sqrt();
}

// Differences of neighbours along one dimension.
at::Tensor Steps(const at::Tensor& values, int dimension) {
  const std::int64_t count = values.size(dimension) - 1;
  return values.narrow(dimension, 1, count) - values.narrow(dimension, 0, count);
}

// A flow may jump where the picture does: at the edges of things.
at::Tensor Roughness(const at::Tensor& picture, const at::Tensor& flow) {
  const auto along = [&](int dimension) {
    const at::Tensor weight = (Steps(picture, dimension).abs() * -kEdgeSharpness).exp();
    return (weight * Charbonnier(Steps(flow, dimension))).mean();
  };
  return along(2) + along(3);
}

}  // namespace

FlowLoss ComputeFlowLoss(const at::Tensor& pictures, const at::Tensor& flow, double smoothness) {
  MILLRACE_CHECK(pictures.dim() == 4 && pictures.size(0) == 2 && pictures.size(1) == 1);
  MILLRACE_CHECK(flow.dim() == 4 && flow.size(2) == pictures.size(2) &&
                 flow.size(3) == pictures.size(3));
  const at::Tensor previous = pictures.narrow(0, 0, 1);
  const at::Tensor current = pictures.narrow(0, 1, 1);

  const at::Tensor cost_at_rest = Charbonnier(previous - current);
  const at::Tensor grid = LookUpGrid(flow);
  const at::Tensor cost = Charbonnier(previous - LookUp(current, grid));
  const at::Tensor photometric = at::where(InsideMask(grid), cost, cost_at_rest).mean();
  const at::Tensor no_motion = cost_at_rest.mean();
  return {photometric / no_motion + smoothness * Roughness(previous, flow), photometric.detach(),
          no_motion};
}

}  // namespace millrace::pipeline
