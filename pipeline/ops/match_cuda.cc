#include "pipeline/ops/match_cuda.h"

#include <cstdint>
#include <optional>

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include "pipeline/ops/cpu/kernels.h"
#include "pipeline/ops/cuda/launcher.h"
#include "pipeline/ops/match.h"

namespace millrace::pipeline::gpu {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

MatchShape ShapeOf(const at::Tensor& features, const at::Tensor& flow, PicturePairs pairs) {
  return {.map = {Narrow(features.size(1)), Narrow(features.size(2)), Narrow(features.size(3))},
          .samples = Narrow(PairCount(pairs)),
          .in_turn = pairs == PicturePairs::kInTurn,
          .radius = kMatchRadius,
          .gain = kMatchGain,
          .has_flow = flow.defined()};
}

const float* In(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.const_data_ptr<float>() : nullptr;
}
float* Out(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.mutable_data_ptr<float>() : nullptr;
}

class MatchFunction : public torch::autograd::Function<MatchFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& given,
                            const std::optional<at::Tensor>& given_flow, PicturePairs pairs) {
    const at::Tensor features = given.contiguous();
    const at::Tensor flow = given_flow ? given_flow->contiguous() : at::Tensor();
    const MatchShape shape = ShapeOf(features, flow, pairs);
    const MapShape& map = shape.map;
    const at::Device device = features.device();
    const at::Tensor normal = at::empty_like(features);
    const at::Tensor inverse = at::empty({features.size(0), map.pixels()}, features.options());
    Launch(NormalizeBody{.shape = map,
                         .features = In(features),
                         .normal = Out(normal),
                         .inverse = Out(inverse),
                         .min_square = kernels::kMinSquaredLength},
           inverse.numel(), device);
    const at::Tensor seen = See(shape, normal, flow, pairs);
    at::Tensor result =
        at::empty({shape.samples, shape.channels(), map.height, map.width}, features.options());
    Launch(CompareBody{.shape = shape,
                       .features = In(features),
                       .normal = In(normal),
                       .flow = In(flow),
                       .seen = In(seen),
                       .result = Out(result)},
           result.numel(), device);
    context->save_for_backward({flow, normal, inverse, seen});
    context->saved_data["pairs"] = static_cast<std::int64_t>(pairs);
    return result;
  }

  static variable_list backward(AutogradContext* context, const variable_list& of_result) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& flow = saved[0];
    const at::Tensor& normal = saved[1];  // In the features' shape.
    const at::Tensor& inverse = saved[2];
    const at::Tensor& seen = saved[3];
    const auto pairs = static_cast<PicturePairs>(context->saved_data["pairs"].toInt());
    const MatchShape shape = ShapeOf(normal, flow, pairs);
    const at::Device device = normal.device();
    const at::Tensor gradient = of_result[0].contiguous();
    const at::Tensor to_normal = at::zeros_like(normal);  // No flow starts from the last picture.
    const at::Tensor to_seen = at::empty_like(seen);
    at::Tensor to_flow = flow.defined() ? at::empty_like(flow) : at::Tensor();
    at::Tensor to_features = at::empty_like(normal);
    Launch(SpreadBody{.shape = shape,
                      .gradient = In(gradient),
                      .normal = In(normal),
                      .seen = In(seen),
                      .to_normal = Out(to_normal),
                      .to_seen = Out(to_seen)},
           seen.numel(), device);
    Launch(SeeBackBody{.shape = shape,
                       .gradient = In(gradient),
                       .normal = In(normal),
                       .flow = In(flow),
                       .to_seen = In(to_seen),
                       .to_normal = Out(to_normal),
                       .to_flow = Out(to_flow)},
           std::int64_t{shape.samples} * shape.map.pixels(), device);
    Launch(NormalizeBackBody{.shape = shape,
                             .gradient = In(gradient),
                             .normal = In(normal),
                             .inverse = In(inverse),
                             .to_normal = In(to_normal),
                             .to_features = Out(to_features)},
           inverse.numel(), device);
    return {to_features, to_flow, at::Tensor()};
  }

 private:
  static at::Tensor See(const MatchShape& shape, const at::Tensor& normal, const at::Tensor& flow,
                        PicturePairs pairs) {
    if (!shape.has_flow) return ToPictures(normal, pairs).contiguous();
    at::Tensor seen = at::empty(
        {shape.samples, shape.map.channels, shape.map.height, shape.map.width}, normal.options());
    Launch(SeeBody{.shape = shape, .normal = In(normal), .flow = In(flow), .seen = Out(seen)},
           std::int64_t{shape.samples} * shape.map.pixels(), normal.device());
    return seen;
  }
};

}  // namespace

at::Tensor Match(const at::Tensor& features, const at::Tensor& flow, PicturePairs pairs) {
  return MatchFunction::apply(
      features, flow.defined() ? std::optional<at::Tensor>(flow) : std::nullopt, pairs);
}

}  // namespace millrace::pipeline::gpu
