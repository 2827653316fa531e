#include "pipeline/flow/occlusion.h"

#include <ATen/TensorOperators.h>

#include "base/check.h"
#include "pipeline/ops/warp.h"

namespace millrace::pipeline {
namespace {

constexpr double kShare = 0.01;
constexpr double kSlack = 0.5;

at::Tensor SquaredLength(const at::Tensor& flow) { return flow.square().sum(1, /*keepdim=*/true); }

}  // namespace

at::Tensor VisibleMask(const at::Tensor& flows) {
  MILLRACE_CHECK(flows.dim() == 4 && flows.size(0) == 2 && flows.size(1) == 2);
  const at::Tensor there = flows.detach();
  const at::Tensor back = LookUp(there.flip(0), LookUpGrid(there));
  return SquaredLength(there + back) <=
         kShare * (SquaredLength(there) + SquaredLength(back)) + kSlack;
}

}  // namespace millrace::pipeline
