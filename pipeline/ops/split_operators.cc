#include "pipeline/ops/split_operators.h"

#include <optional>
#include <utility>
#include <vector>

#include <ATen/autocast_mode.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/linear.h>
#include <torch/csrc/autograd/custom_function.h>

#include "pipeline/ops/weight_gradients.h"

namespace millrace::pipeline {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Window {
  std::int64_t stride;
  std::int64_t padding;
};

class Conv2d : public torch::autograd::Function<Conv2d> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input,
                            const at::Tensor& weight, const std::optional<at::Tensor>& bias,
                            const Window& window) {
    context->save_for_backward({input, weight, bias.value_or(at::Tensor())});
    context->saved_data["stride"] = window.stride;
    context->saved_data["padding"] = window.padding;
    return at::conv2d(input, weight, bias, window.stride, window.padding);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const bool has_bias = saved[2].defined();
    const auto part = [input = saved[0], weight = saved[1], gradient = gradients[0], has_bias,
                       stride = context->saved_data["stride"].toInt(),
                       padding = context->saved_data["padding"].toInt()](bool of_input,
                                                                         bool of_weights) {
      std::vector<std::int64_t> outputs;
      if (has_bias) outputs = {weight.size(0)};
      return at::convolution_backward(
          gradient, input, weight, has_bias ? at::OptionalIntArrayRef(outputs) : std::nullopt,
          {stride, stride}, {padding, padding}, /*dilation=*/{1, 1}, /*transposed=*/false,
          /*output_padding=*/{0, 0}, /*groups=*/1, {of_input, of_weights, of_weights && has_bias});
    };
    variable_list parameters = {saved[1]};
    if (has_bias) parameters.push_back(saved[2]);
    WeightGradients* const later = WeightGradients::LaterFor(parameters);
    if (later != nullptr) {
      later->Leave(std::move(parameters), [part] {
        const auto [none, of_weight, of_bias] = part(/*of_input=*/false, /*of_weights=*/true);
        return variable_list{of_weight, of_bias};
      });
    }
    const bool of_input = context->needs_input_grad(0);
    const bool of_weights = later == nullptr && context->needs_input_grad(1);
    if (!of_input && !of_weights) return variable_list(4);
    const auto [to_input, to_weight, to_bias] = part(of_input, of_weights);
    return {to_input, to_weight, to_bias, at::Tensor()};
  }
};

class Linear : public torch::autograd::Function<Linear> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input,
                            const at::Tensor& weight, const at::Tensor& bias) {
    context->save_for_backward({input, weight, bias});
    return at::linear(input, weight, bias);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& gradient = gradients[0];
    at::Tensor of_input;
    if (context->needs_input_grad(0)) of_input = gradient.mm(saved[1]);
    const auto of_weights = [gradient, input = saved[0]] {
      return variable_list{gradient.t().mm(input), gradient.sum(0)};
    };
    variable_list parameters = {saved[1], saved[2]};
    WeightGradients* const later = WeightGradients::LaterFor(parameters);
    if (later == nullptr) {
      if (!context->needs_input_grad(1)) return {of_input, at::Tensor(), at::Tensor()};
      const variable_list now = of_weights();
      return {of_input, now[0], now[1]};
    }
    later->Leave(std::move(parameters), of_weights);
    return {of_input, at::Tensor(), at::Tensor()};
  }
};

// Autocast converts weights inside the operators, so their gradients are not those of the leaves.
bool IsConverted(const at::Tensor& input, const at::Tensor& weight) {
  return at::autocast::is_autocast_enabled(input.device().type()) ||
         input.scalar_type() != weight.scalar_type();
}

}  // namespace

at::Tensor SplitConv2d(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
                       std::int64_t stride, std::int64_t padding) {
  if (IsConverted(input, weight)) return at::conv2d(input, weight, bias, stride, padding);
  const auto some_bias = bias.defined() ? std::optional(bias) : std::nullopt;
  return Conv2d::apply(input, weight, some_bias, Window{stride, padding});
}

at::Tensor SplitLinear(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias) {
  if (IsConverted(input, weight)) return at::linear(input, weight, bias);
  return Linear::apply(input, weight, bias);
}

}  // namespace millrace::pipeline
