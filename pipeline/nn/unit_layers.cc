#include "pipeline/nn/unit_layers.h"

#include <cmath>

#include <ATen/ops/batch_norm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/zeros.h>

#include "pipeline/ops/split_operators.h"

namespace millrace::pipeline {

ConvolutionUnit::ConvolutionUnit(const Options& options, at::Generator& random)
    : options_(options) {
  at::Tensor weight =
      at::empty({options.outputs, options.inputs, options.kernel, options.kernel}, at::kFloat);
  const double deviation =
      options.zero ? 0 : std::sqrt(2.0 / (options.inputs * options.kernel * options.kernel));
  weight.normal_(0, deviation, random);
  parameters_.push_back(weight.contiguous(at::MemoryFormat::ChannelsLast));
  if (options.normalized) parameters_.push_back(at::ones({options.outputs}, at::kFloat));
  parameters_.push_back(at::zeros({options.outputs}, at::kFloat));
  for (const at::Tensor& parameter : parameters_) parameter.set_requires_grad(true);
}

at::Tensor ConvolutionUnit::Forward(const at::Tensor& values) const {
  const at::Tensor bias = options_.normalized ? at::Tensor() : parameters_[1];
  at::Tensor made = SplitConv2d(values, parameters_[0], bias, options_.stride, options_.kernel / 2);
  if (options_.normalized) {
    made = at::batch_norm(made, parameters_[1], parameters_[2], /*running_mean=*/{},
                          /*running_var=*/{}, /*training=*/true, /*momentum=*/0, /*eps=*/1e-5,
                          /*cudnn_enabled=*/false);
  }
  switch (options_.activation) {
    case Activation::kNone:
      break;
    case Activation::kRelu:
      return at::relu(made);
    case Activation::kLeakyRelu:
      return at::leaky_relu(made, options_.slope);
  }
  return made;
}

LayerValues ConvolutionLayer::Forward(const LayerValues& inputs) const {
  at::Tensor made = unit_.Forward(inputs.main);
  Tensors skips;
  if (has_skip_) skips.push_back(made);
  return {std::move(made), std::move(skips)};
}

FunctionLayer::Function MaxPooling(int kernel) {
  return [kernel](const LayerValues& inputs) {
    return at::max_pool2d(inputs.main, kernel, /*stride=*/2, /*padding=*/(kernel - 1) / 2);
  };
}

}  // namespace millrace::pipeline
