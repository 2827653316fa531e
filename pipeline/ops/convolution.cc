#include "pipeline/ops/convolution.h"

#include <algorithm>
#include <cstdint>

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include "base/check.h"
#include "pipeline/ops/by_operators.h"
#include "pipeline/ops/cpu/kernels.h"
#include "pipeline/ops/weight_gradients.h"

namespace millrace::pipeline {
namespace {

using kernels::kSide;
using kernels::kTaps;
using kernels::PaddedCount;
using torch::autograd::variable_list;

constexpr auto kLayout = at::MemoryFormat::ChannelsLast;

struct Shape {
  std::int64_t samples;
  std::int64_t inputs;
  std::int64_t outputs;
  std::int64_t height;
  std::int64_t width;
  std::int64_t out_height;
  std::int64_t out_width;
  std::int64_t stride;

  Shape(const at::Tensor& input, const at::Tensor& weight, std::int64_t by)
      : samples(input.size(0)),
        inputs(input.size(1)),
        outputs(weight.size(0)),
        height(input.size(2)),
        width(input.size(3)),
        out_height((height - 1) / by + 1),
        out_width((width - 1) / by + 1),
        stride(by) {}
};

// One call writes each row, so the number of threads does not change the result.
template <typename Task>
void ForEachRow(std::int64_t samples, std::int64_t height, const Task& task) {
  at::parallel_for(0, samples * height, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) task(row / height, row % height);
  });
}

// From [a][tap][b] to [tap][b][stride], with a along the stride; or back.
struct Transposition {
  std::int64_t a;
  std::int64_t b;
  std::int64_t stride;
};

template <typename Move>
void Transpose(const Transposition& shape, const Move& move) {
  constexpr std::int64_t kTile = 16;
  for (std::int64_t tap = 0; tap < kTaps; ++tap) {
    for (std::int64_t a0 = 0; a0 < shape.a; a0 += kTile) {
      for (std::int64_t b = 0; b < shape.b; ++b) {
        const std::int64_t there = (tap * shape.b + b) * shape.stride;
        for (std::int64_t a = a0; a < std::min(a0 + kTile, shape.a); ++a) {
          move((a * kTaps + tap) * shape.b + b, there + a);
        }
      }
    }
  }
}

// [tap][inputs][padded outputs], from [outputs][tap][inputs].
at::Tensor ForwardWeights(const Shape& shape, const at::Tensor& weight) {
  const std::int64_t padded = PaddedCount(shape.outputs);
  at::Tensor packed = padded == shape.outputs
                          ? at::empty({kTaps * shape.inputs * padded}, weight.options())
                          : at::zeros({kTaps * shape.inputs * padded}, weight.options());
  const float* from = weight.const_data_ptr<float>();
  float* to = packed.mutable_data_ptr<float>();
  Transpose({shape.outputs, shape.inputs, padded},
            [&](std::int64_t i, std::int64_t j) { to[j] = from[i]; });
  return packed;
}

// [tap][outputs][padded inputs], taps from the last to the first: the order of the results that a
// pixel reached.
at::Tensor BackwardWeights(const Shape& shape, const at::Tensor& weight) {
  const std::int64_t padded = PaddedCount(shape.inputs);
  at::Tensor packed = at::zeros({kTaps * shape.outputs * padded}, weight.options());
  const float* from = weight.const_data_ptr<float>();
  float* to = packed.mutable_data_ptr<float>();
  for (std::int64_t output = 0; output < shape.outputs; ++output) {
    for (std::int64_t tap = 0; tap < kTaps; ++tap) {
      std::copy_n(from, shape.inputs, to + ((kTaps - 1 - tap) * shape.outputs + output) * padded);
      from += shape.inputs;
    }
  }
  return packed;
}

at::Tensor PaddedBias(const Shape& shape, const at::Tensor& bias) {
  at::Tensor padded = at::zeros({PaddedCount(shape.outputs)}, bias.options());
  padded.narrow(0, 0, shape.outputs).copy_(bias);
  return padded;
}

void Forward(const Shape& shape, const at::Tensor& input, const kernels::GatheredRow& common,
             const float* weights) {
  const float* const pixels = input.const_data_ptr<float>();
  const std::int64_t of_tap = shape.inputs * PaddedCount(shape.outputs);
  ForEachRow(shape.samples, shape.out_height, [&](std::int64_t n, std::int64_t y) {
    kernels::GatheredRow row = common;
    row.results += (n * shape.out_height + y) * shape.out_width * shape.outputs;
    for (std::int64_t ky = 0; ky < kSide; ++ky) {
      const std::int64_t from = y * shape.stride + ky - 1;
      if (from < 0 || from >= shape.height) continue;
      row.taps[row.tap_count++] = {
          .row = pixels + (n * shape.height + from) * shape.width * shape.inputs,
          .weights = weights + ky * kSide * of_tap,
          .first = -1,
          .step = shape.stride,
          .span = kSide};
    }
    kernels::Best().gather(row);
  });
}

// The result's pixels that an input pixel reached, in one dimension of the window. Tap k of pixel x
// belongs to result (x + 1 - k) / stride, if that is an integer. Pixels with the same remainder by
// the stride have the same taps.
bool IsReached(std::int64_t x, std::int64_t tap, std::int64_t stride) {
  return (x + 1 - tap + stride) % stride == 0;
}

// Division by the stride, rounded down; the dividend may be -1.
std::int64_t DivideByStride(std::int64_t x, std::int64_t stride) {
  return (x + stride) / stride - 1;
}

// Appends the taps of one row of the window, for input pixel x and every stride-th pixel after it.
// They read the row of gradients `source`. `weights` belongs to the first tap; the weights of the
// later taps lie before it.
void AddTaps(const Shape& shape, const float* source, const float* weights, std::int64_t x,
             kernels::GatheredRow& row) {
  const std::int64_t of_tap = shape.outputs * PaddedCount(shape.inputs);
  if (shape.stride == 1 && row.source_stride == row.source_channels) {
    row.taps[row.tap_count++] = {.row = source,
                                 .weights = weights - (kSide - 1) * of_tap,
                                 .first = -1,
                                 .step = 1,
                                 .span = kSide};
    return;
  }
  for (int kx = 0; kx < kSide; ++kx) {
    if (!IsReached(x, kx, shape.stride)) continue;
    row.taps[row.tap_count++] = {.row = source,
                                 .weights = weights - kx * of_tap,
                                 .first = DivideByStride(x + 1 - kx, shape.stride),
                                 .step = 1,
                                 .span = 1};
  }
}

void BackwardRow(const Shape& shape, const float* gradients, const float* weights, std::int64_t y,
                 kernels::GatheredRow row) {
  const std::int64_t of_tap = shape.outputs * PaddedCount(shape.inputs);
  float* const begin = row.results;
  for (std::int64_t x = 0; x < std::min(shape.stride, shape.width); ++x) {
    row.tap_count = 0;
    for (int ky = 0; ky < kSide; ++ky) {
      const std::int64_t from = DivideByStride(y + 1 - ky, shape.stride);
      if (!IsReached(y, ky, shape.stride) || from < 0 || from >= shape.out_height) continue;
      AddTaps(shape, gradients + from * shape.out_width * row.source_stride,
              weights + (kTaps - 1 - ky * kSide) * of_tap, x, row);
    }
    row.results = begin + x * shape.inputs;
    row.count = (shape.width - x + shape.stride - 1) / shape.stride;
    kernels::Best().gather(row);
  }
}

at::Tensor ToInput(const Shape& shape, const at::Tensor& gradients, const at::Tensor& weight) {
  const at::Tensor weights = BackwardWeights(shape, weight);
  at::Tensor result = at::empty({shape.samples, shape.inputs, shape.height, shape.width},
                                weight.options(), kLayout);
  const kernels::GatheredRow common{.source_width = shape.out_width,
                                    .source_channels = shape.outputs,
                                    .source_stride = PaddedCount(shape.outputs),
                                    .results = result.mutable_data_ptr<float>(),
                                    .channels = shape.inputs,
                                    .stride = shape.stride * shape.inputs};
  const std::int64_t of_sample = shape.out_height * shape.out_width * common.source_stride;
  ForEachRow(shape.samples, shape.height, [&](std::int64_t n, std::int64_t y) {
    kernels::GatheredRow row = common;
    row.results += (n * shape.height + y) * shape.width * shape.inputs;
    BackwardRow(shape, gradients.const_data_ptr<float>() + n * of_sample,
                weights.const_data_ptr<float>(), y, row);
  });
  return result;
}

// Adds row y of the gradients to the sums for the weights of one tap.
void WeighTap(const Shape& shape, const float* pixels, std::int64_t tap, kernels::WeighedRow row) {
  const std::int64_t kx = tap % kSide;
  // The first result whose pixel is inside the row, and the first later one whose pixel is outside.
  const std::int64_t begin = kx == 0 ? 1 : 0;
  const std::int64_t end =
      std::min(shape.out_width, (shape.width - kx + shape.stride) / shape.stride);
  if (end <= begin) return;
  row.pixels = pixels + (begin * shape.stride + kx - 1) * shape.inputs;
  row.gradients += begin * row.gradient_channels;
  row.count = end - begin;
  row.sums += tap * shape.inputs * row.gradient_channels;
  kernels::Best().weigh(row);
}

at::Tensor ToWeight(const Shape& shape, const at::Tensor& input, const at::Tensor& gradients,
                    const at::Tensor& weight) {
  const std::int64_t padded = PaddedCount(shape.outputs);
  const at::Tensor sums = at::zeros({kTaps * shape.inputs * padded}, weight.options());
  const kernels::WeighedRow common{.step = shape.stride * shape.inputs,
                                   .pixel_channels = shape.inputs,
                                   .gradients = gradients.const_data_ptr<float>(),
                                   .gradient_channels = padded,
                                   .sums = sums.mutable_data_ptr<float>()};
  const float* const pixels = input.const_data_ptr<float>();
  // One thread sums the weights of a tap, in the order of the rows.
  at::parallel_for(0, kTaps, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t row = 0; row < shape.samples * shape.out_height; ++row) {
      kernels::WeighedRow weighed = common;
      weighed.gradients += row * shape.out_width * padded;
      for (std::int64_t tap = first; tap < last; ++tap) {
        const std::int64_t y = row % shape.out_height * shape.stride + tap / kSide - 1;
        if (y < 0 || y >= shape.height) continue;
        const std::int64_t sample = row / shape.out_height;
        WeighTap(shape, pixels + (sample * shape.height + y) * shape.width * shape.inputs, tap,
                 weighed);
      }
    }
  });
  at::Tensor result = at::empty_like(weight);
  const float* from = sums.const_data_ptr<float>();
  float* to = result.mutable_data_ptr<float>();
  Transpose({shape.outputs, shape.inputs, padded},
            [&](std::int64_t i, std::int64_t j) { to[i] = from[j]; });
  return result;
}

// The gradients before the ReLU, padded, and the bias's gradient.
struct MaskedGradients {
  at::Tensor gradients;
  at::Tensor to_bias;
};

MaskedGradients Mask(const Shape& shape, const at::Tensor& gradients, const at::Tensor& results,
                     double slope) {
  const std::int64_t rows = shape.samples * shape.out_height;
  const std::int64_t padded = PaddedCount(shape.outputs);
  MaskedGradients masked{
      .gradients = at::empty({rows * shape.out_width * padded}, results.options()),
      .to_bias = at::zeros({shape.outputs}, results.options())};
  const at::Tensor of_row = at::empty({shape.outputs}, results.options());
  float* const row_sums = of_row.mutable_data_ptr<float>();
  float* const sums = masked.to_bias.mutable_data_ptr<float>();
  const std::int64_t row_floats = shape.out_width * shape.outputs;
  for (std::int64_t row = 0; row < rows; ++row) {
    std::fill_n(row_sums, shape.outputs, 0.0F);
    kernels::Best().mask(
        {.gradients = gradients.const_data_ptr<float>() + row * row_floats,
         .results = results.const_data_ptr<float>() + row * row_floats,
         .count = shape.out_width,
         .channels = shape.outputs,
         .slope = static_cast<float>(slope),
         .masked = masked.gradients.mutable_data_ptr<float>() + row * shape.out_width * padded,
         .bias = row_sums});
    // Row by row: a long sum in float32 loses digits.
    for (std::int64_t i = 0; i < shape.outputs; ++i) sums[i] += row_sums[i];
  }
  return masked;
}

class Convolution : public torch::autograd::Function<Convolution> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& input,
                            const at::Tensor& weight, const at::Tensor& bias,
                            const ConvolutionOptions& options) {
    const at::Tensor pixels = input.contiguous(kLayout);
    const Shape shape(pixels, weight, options.stride);
    const at::Tensor weights = ForwardWeights(shape, weight.contiguous(kLayout));
    const at::Tensor padded_bias = PaddedBias(shape, bias);
    at::Tensor result = at::empty({shape.samples, shape.outputs, shape.out_height, shape.out_width},
                                  pixels.options(), kLayout);
    Forward(shape, pixels,
            {.source_width = shape.width,
             .source_channels = shape.inputs,
             .source_stride = shape.inputs,
             .results = result.mutable_data_ptr<float>(),
             .count = shape.out_width,
             .channels = shape.outputs,
             .stride = shape.outputs,
             .bias = padded_bias.const_data_ptr<float>(),
             .slope = static_cast<float>(options.slope)},
            weights.const_data_ptr<float>());
    context->save_for_backward({pixels, weight, result});
    context->saved_data["stride"] = options.stride;
    context->saved_data["slope"] = options.slope;
    return result;
  }

  static variable_list backward(torch::autograd::AutogradContext* context,
                                const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const at::Tensor& pixels = saved[0];
    const at::Tensor weight = saved[1].contiguous(kLayout);
    const Shape shape(pixels, weight, context->saved_data["stride"].toInt());
    const MaskedGradients masked = Mask(shape, gradients[0].contiguous(kLayout), saved[2],
                                        context->saved_data["slope"].toDouble());
    at::Tensor to_input;
    if (context->needs_input_grad(0)) to_input = ToInput(shape, masked.gradients, weight);
    const auto to_weight = [shape, pixels, gradients = masked.gradients, weight] {
      return variable_list{ToWeight(shape, pixels, gradients, weight)};
    };
    WeightGradients* const later = WeightGradients::LaterFor({saved[1]});
    if (later == nullptr) return {to_input, to_weight()[0], masked.to_bias, at::Tensor()};
    later->Leave({saved[1]}, to_weight);
    return {to_input, at::Tensor(), masked.to_bias, at::Tensor()};
  }
};

}  // namespace

at::Tensor Convolve(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
                    const ConvolutionOptions& options) {
  MILLRACE_CHECK(input.dim() == 4 && input.size(1) == weight.size(1));
  MILLRACE_CHECK(weight.size(2) == kSide && weight.size(3) == kSide);
  MILLRACE_CHECK(std::max(weight.size(0), weight.size(1)) <= kernels::kMaxChannels);
  MILLRACE_CHECK((options.stride == 1 || options.stride == 2) && options.slope > 0);
  if (!input.device().is_cpu()) {
    return by_operators::Convolve(input, weight, bias, options.stride, options.slope);
  }
  MILLRACE_CHECK(input.scalar_type() == at::kFloat);
  return Convolution::apply(input, weight, bias, options);
}

}  // namespace millrace::pipeline
