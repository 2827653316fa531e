#include "pipeline/ops/convolution_stack.h"

#include <cmath>
#include <utility>

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include "base/check.h"
#include "pipeline/ops/convolution.h"

namespace millrace::pipeline {
namespace {

constexpr int kKernel = 3;
constexpr double kNegativeSlope = 0.1;

}  // namespace

ConvolutionStack::ConvolutionStack(int input_channels, const std::vector<Size>& sizes,
                                   at::Generator& random)
    : channels_(input_channels) {
  for (const Size& size : sizes) {
    at::Tensor weight = at::empty({size.channels, channels_, kKernel, kKernel}, at::kFloat);
    const double inputs = channels_ * kKernel * kKernel;
    weight.normal_(0, std::sqrt(2 / ((1 + kNegativeSlope * kNegativeSlope) * inputs)), random);
    Append(std::move(weight), size.stride);
  }
}

void ConvolutionStack::AppendZero(int channels) {
  Append(at::zeros({channels, channels_, kKernel, kKernel}, at::kFloat), 1);
  linear_end_ = true;
}

void ConvolutionStack::Append(at::Tensor weight, int stride) {
  MILLRACE_CHECK(!linear_end_);
  channels_ = static_cast<int>(weight.size(0));
  strides_.push_back(stride);
  // The layout that Convolve() reads without a copy.
  weight = weight.contiguous(at::MemoryFormat::ChannelsLast);
  parameters_.push_back(weight.set_requires_grad(true));
  parameters_.push_back(at::zeros({channels_}, at::kFloat).set_requires_grad(true));
}

at::Tensor ConvolutionStack::Forward(at::Tensor values) const {
  for (std::size_t i = 0; i < strides_.size(); ++i) {
    const bool linear = linear_end_ && i + 1 == strides_.size();
    values = Convolve(values, parameters_[2 * i], parameters_[2 * i + 1],
                      {.stride = strides_[i], .slope = linear ? 1 : kNegativeSlope});
  }
  return values;
}

}  // namespace millrace::pipeline
