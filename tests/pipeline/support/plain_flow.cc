#include "tests/pipeline/support/plain_flow.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/where.h>

#include "pipeline/ops/by_operators.h"
#include "pipeline/ops/flow_terms.h"
#include "pipeline/ops/warp.h"

namespace millrace::pipeline::plain {
namespace {

constexpr double kSlope = 0.1;

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
    return by_operators::Convolve(input, weight, *next_++, stride, slope);
  }

  std::vector<at::Tensor>::const_iterator next_;
};

}  // namespace

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
  return cost / at_rest.mean().clamp_min(kMinAtRest) + smoothness * EdgeAwareRoughness(from, flow);
}

at::Tensor Flow(const std::vector<at::Tensor>& parameters, const at::Tensor& pictures,
                PicturePairs pairs) {
  Convolver with(parameters);
  const at::Tensor at_2 = with.Features(pictures);
  const at::Tensor at_4 = with.Features(at_2);
  const at::Tensor at_8 = with.Features(at_4);
  const at::Tensor at_16 = with.Features(at_8);
  at::Tensor flow = with.Decode(by_operators::Match(at_16, {}, pairs));
  for (const at::Tensor& features : {at_8, at_4}) {
    flow = UpsampleFlow(flow, 2);
    flow = flow + with.Decode(by_operators::Match(features, flow, pairs));
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
