#include "pipeline/ops/relative_loss_cuda.h"

#include <cstdint>
#include <optional>

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/sum.h>
#include <torch/csrc/autograd/custom_function.h>

#include "pipeline/ops/cuda/launcher.h"
#include "pipeline/ops/flow_terms.h"

namespace millrace::pipeline::gpu {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

LossShape ShapeOf(const at::Tensor& pictures, const at::Tensor& flow, double smoothness) {
  const auto side = [&](int dimension) { return Narrow(pictures.size(dimension)); };
  return {.picture = {side(1), side(2), side(3)},
          .samples = Narrow(flow.size(0)),
          .smoothness = static_cast<float>(smoothness),
          .square = static_cast<float>(kCharbonnierEpsilon * kCharbonnierEpsilon),
          .sharpness = static_cast<float>(kEdgeSharpness),
          .min_at_rest = static_cast<float>(kMinAtRest)};
}

float* Row(const at::Tensor& rows, std::int64_t i) {
  return rows.mutable_data_ptr<float>() + i * rows.stride(0);
}

class Relative : public torch::autograd::Function<Relative> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& given,
                               const at::Tensor& given_pictures,
                               const std::optional<at::Tensor>& given_visible, double smoothness) {
    const at::Tensor flow = given.contiguous();
    const at::Tensor pictures = given_pictures.contiguous();
    const at::Tensor visible = given_visible ? given_visible->contiguous() : at::Tensor();
    const LossShape shape = ShapeOf(pictures, flow, smoothness);
    const std::int64_t elements = std::int64_t{shape.samples} * shape.picture.pixels();
    const at::Device device = flow.device();
    const float* const picture = pictures.const_data_ptr<float>();

    const at::Tensor at_rest = at::empty({shape.samples, shape.picture.pixels()}, flow.options());
    Launch(RestBody{.shape = shape, .pictures = picture, .at_rest = Row(at_rest, 0)}, elements,
           device);
    const at::Tensor rest_sums = at_rest.sum(-1);
    const at::Tensor gradient = at::empty_like(flow);
    const at::Tensor costs = at::empty({3, shape.samples, shape.picture.pixels()}, flow.options());
    Launch(JudgeBody{.shape = shape,
                     .pictures = picture,
                     .flow = flow.const_data_ptr<float>(),
                     .visible = visible.defined() ? visible.const_data_ptr<bool>() : nullptr,
                     .at_rest = Row(at_rest, 0),
                     .rest_sums = rest_sums.const_data_ptr<float>(),
                     .judged = Row(costs, 0),
                     .inside = Row(costs, 1),
                     .rough = Row(costs, 2),
                     .gradient = gradient.mutable_data_ptr<float>()},
           elements, device);
    const at::Tensor sums = costs.sum(-1);
    at::Tensor objective = at::empty({}, flow.options());
    at::Tensor figures = at::empty({SumUpBody::kFigures}, flow.options());
    Launch(SumUpBody{.shape = shape,
                     .rest_sums = rest_sums.const_data_ptr<float>(),
                     .judged = Row(sums, 0),
                     .inside = Row(sums, 1),
                     .rough = Row(sums, 2),
                     .objective = objective.mutable_data_ptr<float>(),
                     .figures = figures.mutable_data_ptr<float>()},
           1, device);
    context->save_for_backward({gradient});
    context->mark_non_differentiable({figures});
    return {objective, figures};
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    return {context->get_saved_variables()[0] * gradients[0], at::Tensor(), at::Tensor(),
            at::Tensor()};
  }
};

}  // namespace

RelativeLoss ComputeRelativeLoss(const at::Tensor& pictures, const at::Tensor& flow,
                                 const at::Tensor& visible, double smoothness) {
  const variable_list made = Relative::apply(
      flow, pictures, visible.defined() ? std::optional<at::Tensor>(visible) : std::nullopt,
      smoothness);
  const at::Tensor figures = made[1].detach();
  return {.objective = made[0],
          .photometric = figures.select(0, SumUpBody::kPhotometric),
          .roughness = figures.select(0, SumUpBody::kRoughness),
          .score = figures.select(0, SumUpBody::kScore),
          .no_motion = figures.select(0, SumUpBody::kNoMotion)};
}

}  // namespace millrace::pipeline::gpu
