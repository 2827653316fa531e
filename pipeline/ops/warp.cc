#include "pipeline/ops/warp.h"

#include <array>

#include <ATen/TensorOperators.h>
#include <ATen/ops/grid_sampler_2d.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/upsample_bilinear2d.h>

namespace millrace::pipeline {
namespace {

// The mode numbers of grid_sampler_2d.
constexpr int kBilinear = 0;
constexpr int kZerosOutside = 0;
constexpr int kBorderOutside = 1;

// The coordinates along one dimension: pixel i + displacement, with the side spanning -1..1.
at::Tensor Coordinates(const at::Tensor& displacement, std::int64_t side, int dimension) {
  std::array<std::int64_t, 3> shape = {1, 1, 1};
  shape[dimension] = side;
  const at::Tensor pixels = at::linspace(-1, 1, side, displacement.options()).view(shape);
  return (pixels + displacement * (2.0 / static_cast<double>(side - 1))).clamp(-2, 2);
}

}  // namespace

at::Tensor LookUpGrid(const at::Tensor& flow) {
  return at::stack({Coordinates(flow.select(1, 0), flow.size(3), 2),
                    Coordinates(flow.select(1, 1), flow.size(2), 1)},
                   -1);
}

at::Tensor LookUp(const at::Tensor& values, const at::Tensor& grid) {
  return at::grid_sampler_2d(values, grid, kBilinear, kZerosOutside, /*align_corners=*/true);
}

at::Tensor LookUpHeld(const at::Tensor& values, const at::Tensor& grid) {
  return at::grid_sampler_2d(values, grid, kBilinear, kBorderOutside, /*align_corners=*/true);
}

at::Tensor InsideMask(const at::Tensor& grid) {
  return (grid.detach().abs() <= 1).all(-1).unsqueeze(1);
}

at::Tensor UpsampleFlow(const at::Tensor& flow, int factor) {
  return at::upsample_bilinear2d(flow * factor, {flow.size(2) * factor, flow.size(3) * factor},
                                 /*align_corners=*/false);
}

}  // namespace millrace::pipeline
