#include "pipeline/ops/by_operators.h"

#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/pixel_shuffle.h>
#include <ATen/ops/replication_pad2d.h>
#include <ATen/ops/softmax.h>

#include "pipeline/ops/blend_flow.h"
#include "pipeline/ops/match.h"
#include "pipeline/ops/split_operators.h"
#include "pipeline/ops/warp.h"

namespace millrace::pipeline::by_operators {
namespace {

at::Tensor Normalize(const at::Tensor& features) {
  return features * (features.square().sum(1, /*keepdim=*/true) + 1e-6).rsqrt();
}

// One shifted product per displacement.
at::Tensor ShiftedProducts(const at::Tensor& first, const at::Tensor& second) {
  constexpr int kRadius = kMatchRadius;
  const at::Tensor padded = at::constant_pad_nd(second, {kRadius, kRadius, kRadius, kRadius});
  std::vector<at::Tensor> products;
  products.reserve(kMatchChannels);
  for (int dy = 0; dy <= 2 * kRadius; ++dy) {
    for (int dx = 0; dx <= 2 * kRadius; ++dx) {
      const at::Tensor shifted = padded.narrow(2, dy, first.size(2)).narrow(3, dx, first.size(3));
      products.push_back((first * shifted).sum(1, /*keepdim=*/true));
    }
  }
  return at::cat(products, 1);
}

}  // namespace

at::Tensor Convolve(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
                    int stride, double slope) {
  const at::Tensor made = SplitConv2d(input, weight, bias, stride, /*padding=*/1);
  return slope == 1 ? made : at::leaky_relu(made, slope);
}

at::Tensor Match(const at::Tensor& features, const at::Tensor& flow, PicturePairs pairs) {
  const at::Tensor normal = Normalize(features);
  const at::Tensor to = ToPictures(normal, pairs);
  const at::Tensor seen = flow.defined() ? LookUp(to, LookUpGrid(flow)) : to;
  std::vector<at::Tensor> parts = {kMatchGain * ShiftedProducts(FromPictures(normal, pairs), seen),
                                   FromPictures(features, pairs)};
  if (flow.defined()) parts.push_back(flow);
  return at::cat(parts, 1);
}

at::Tensor BlendFlow(const at::Tensor& flow, const at::Tensor& choices) {
  const at::Tensor of_pixels = at::pixel_shuffle(choices, 2);
  const at::Tensor weights = at::softmax(of_pixels.narrow(1, 0, kBlendWeights), 1);
  const std::int64_t height = flow.size(2);
  const std::int64_t width = flow.size(3);
  at::Tensor blend = of_pixels.narrow(1, kBlendWeights, 2) + weights.narrow(1, 0, 1) * flow;
  std::int64_t k = 1;
  for (const std::int64_t distance : kBlendDistances) {
    const at::Tensor padded = at::replication_pad2d(flow, {distance, distance, distance, distance});
    for (const std::int64_t y : {std::int64_t{0}, distance, 2 * distance}) {
      for (const std::int64_t x : {std::int64_t{0}, distance, 2 * distance}) {
        if (x == distance && y == distance) continue;
        const at::Tensor neighbour = padded.narrow(2, y, height).narrow(3, x, width);
        blend = blend + weights.narrow(1, k++, 1) * neighbour;
      }
    }
  }
  return blend;
}

}  // namespace millrace::pipeline::by_operators
