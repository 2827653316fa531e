#include "tests/pipeline/plain_flow.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/where.h>

#include "pipeline/flow_terms.h"
#include "pipeline/match.h"
#include "pipeline/warp.h"

namespace millrace::pipeline::plain {
namespace {

constexpr double kSlope = 0.1;

at::Tensor Normalized(const at::Tensor& features) {
  return features * (features.square().sum(1, /*keepdim=*/true) + 1e-6).rsqrt();
}

// The definition: one shifted product for each displacement.
at::Tensor ShiftedProducts(const at::Tensor& first, const at::Tensor& second) {
  constexpr int kRadius = kMatchRadius;
  const at::Tensor padded = at::constant_pad_nd(second, {kRadius, kRadius, kRadius, kRadius});
  std::vector<at::Tensor> products;
  for (int dy = 0; dy <= 2 * kRadius; ++dy) {
    for (int dx = 0; dx <= 2 * kRadius; ++dx) {
      const at::Tensor shifted = padded.narrow(2, dy, first.size(2)).narrow(3, dx, first.size(3));
      products.push_back((first * shifted).sum(1, /*keepdim=*/true));
    }
  }
  return at::cat(products, 1);
}

// Goes through the parameters, convolution after convolution.
class Convolver {
 public:
  explicit Convolver(const std::vector<at::Tensor>& parameters) : next_(parameters.begin()) {}

  at::Tensor Features(const at::Tensor& input) {
    const at::Tensor features = Hidden(Hidden(input, 2), 1);
    return features - features.narrow(0, 0, 2).mean({0, 2, 3}, /*keepdim=*/true);
  }
  at::Tensor Decode(at::Tensor values) {
    for (int i = 0; i < 3; ++i) values = Hidden(values, 1);
    return Apply(values, 1, 1);
  }

 private:
  at::Tensor Hidden(const at::Tensor& input, int stride) { return Apply(input, stride, kSlope); }
  at::Tensor Apply(const at::Tensor& input, int stride, double slope) {
    const at::Tensor& weight = *next_++;
    return Convolve(input, weight, *next_++, stride, slope);
  }

  std::vector<at::Tensor>::const_iterator next_;
};

}  // namespace

at::Tensor Convolve(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
                    int stride, double slope) {
  const at::Tensor made = at::conv2d(input, weight, bias, stride, /*padding=*/1);
  return slope == 1 ? made : at::leaky_relu(made, slope);
}

at::Tensor Match(const at::Tensor& features, const at::Tensor& flow, PicturePairs pairs) {
  const at::Tensor normal = Normalized(features);
  const at::Tensor to = ToPictures(normal, pairs);
  const at::Tensor seen = flow.defined() ? LookUp(to, LookUpGrid(flow)) : to;
  std::vector<at::Tensor> parts = {kMatchGain * ShiftedProducts(FromPictures(normal, pairs), seen),
                                   FromPictures(features, pairs)};
  if (flow.defined()) parts.push_back(flow);
  return at::cat(parts, 1);
}

at::Tensor RelativeObjective(const at::Tensor& pictures, const at::Tensor& flow,
                             const at::Tensor& visible, double smoothness) {
  const PicturePairs pairs = flow.size(0) == 2 ? PicturePairs::kBothWays : PicturePairs::kOne;
  const at::Tensor from = FromPictures(pictures, pairs);
  const at::Tensor to = ToPictures(pictures, pairs);
  const at::Tensor grid = LookUpGrid(flow);
  at::Tensor judged = InsideMask(grid);
  if (visible.defined()) judged = judged.logical_and(visible);
  const at::Tensor at_rest = Charbonnier(from - to);
  const at::Tensor cost = at::where(judged, Charbonnier(from - LookUp(to, grid)), at_rest).mean();
  return cost / at_rest.mean().clamp_min(kLeastAtRest) +
         smoothness * EdgeAwareRoughness(from, flow);
}

at::Tensor Flow(const std::vector<at::Tensor>& parameters, const at::Tensor& pictures,
                PicturePairs pairs) {
  Convolver with(parameters);
  const at::Tensor at_2 = with.Features(pictures);
  const at::Tensor at_4 = with.Features(at_2);
  const at::Tensor at_8 = with.Features(at_4);
  const at::Tensor at_16 = with.Features(at_8);
  at::Tensor flow = with.Decode(plain::Match(at_16, {}, pairs));
  for (const at::Tensor& features : {at_8, at_4}) {
    flow = UpsampleFlow(flow, 2);
    flow = flow + with.Decode(plain::Match(features, flow, pairs));
  }
  return UpsampleFlow(flow, 4);
}

void Update(const std::vector<at::Tensor>& parameters, const std::vector<at::Tensor>& squares,
            double learning_rate) {
  const at::NoGradGuard no_graph;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const at::Tensor& gradient = parameters[i].grad();
    squares[i].mul_(0.99).addcmul_(gradient, gradient, 0.01);
    parameters[i].addcdiv_(gradient, squares[i].sqrt().add_(1e-8), -learning_rate);
    gradient.zero_();
  }
}

}  // namespace millrace::pipeline::plain
