#include "pipeline/ops/match.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include "base/check.h"
#include "pipeline/ops/by_operators.h"
#include "pipeline/ops/cpu/kernels.h"
#include "pipeline/ops/cuda/launcher.h"
#include "pipeline/ops/match_cuda.h"

namespace millrace::pipeline {
namespace {

using kernels::kPadding;
using kernels::PaddedCount;

constexpr auto kLayout = at::MemoryFormat::ChannelsLast;
// Each factor of a product is longer by this factor than a unit vector.
constexpr int kLength = 2;
static_assert(kLength * kLength == kMatchGain);

struct Shape {
  PicturePairs pairs;
  std::int64_t channels;
  std::int64_t height;
  std::int64_t width;
  bool has_flow;

  [[nodiscard]] std::int64_t samples() const { return PairCount(pairs); }
  [[nodiscard]] std::int64_t pixels() const { return height * width; }
  [[nodiscard]] std::int64_t padded() const { return PaddedCount(channels); }
  /// Floats per pixel of the result.
  [[nodiscard]] std::int64_t stride() const {
    return kMatchChannels + channels + (has_flow ? kFlowChannels : 0);
  }
  // Widths of channel-major rows; see ComparedRow.
  [[nodiscard]] std::int64_t first_width() const { return PaddedCount(width); }
  [[nodiscard]] std::int64_t second_width() const {
    return PaddedCount(width + kPadding + std::int64_t{2} * kMatchRadius + 8);
  }
};

// One call writes each row, so the number of threads does not change the result.
template <typename Task>
void ForEachRow(std::int64_t height, const Task& task) {
  at::parallel_for(0, height, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t y = begin; y < end; ++y) task(y);
  });
}

// One sample's maps in the kernels' layout.
struct Sample {
  const float* from = nullptr;  // Normalized: [pixels][padded].
  const float* to = nullptr;
  const float* flow = nullptr;  // [pixels][2].
  float* seen = nullptr;        // [pixels][padded].
};

kernels::WarpedRow RowToWarp(const Shape& shape, const Sample& sample, std::int64_t y) {
  return {.map = sample.to,
          .height = shape.height,
          .width = shape.width,
          .channels = shape.padded(),
          .y = y,
          .flow = sample.flow + y * shape.width * kFlowChannels,
          .seen = sample.seen + y * shape.width * shape.padded()};
}

void See(const Shape& shape, const Sample& sample) {
  if (sample.flow == nullptr) {
    std::copy_n(sample.to, shape.pixels() * shape.padded(), sample.seen);
    return;
  }
  ForEachRow(shape.height,
             [&](std::int64_t y) { kernels::Best().warp(RowToWarp(shape, sample, y)); });
}

// [channels][width] from [width][padded channels].
void TurnRow(const Shape& shape, const float* from, float* to, std::int64_t width) {
  for (std::int64_t x = 0; x < shape.width; ++x) {
    for (std::int64_t c = 0; c < shape.channels; ++c) {
      to[c * width + x] = from[x * shape.padded() + c];
    }
  }
}

void Compare(const Shape& shape, const Sample& sample, float* results) {
  const auto options = at::TensorOptions(at::kFloat);
  const at::Tensor first =
      at::zeros({shape.height * shape.channels * shape.first_width()}, options);
  const at::Tensor second =
      at::zeros({shape.height * shape.channels * shape.second_width()}, options);
  float* const firsts = first.mutable_data_ptr<float>();
  float* const seconds = second.mutable_data_ptr<float>();
  const std::int64_t row_floats = shape.width * shape.padded();
  ForEachRow(shape.height, [&](std::int64_t y) {
    TurnRow(shape, sample.from + y * row_floats, firsts + y * shape.channels * shape.first_width(),
            shape.first_width());
    TurnRow(shape, sample.seen + y * row_floats,
            seconds + y * shape.channels * shape.second_width() + kMatchRadius,
            shape.second_width());
  });
  ForEachRow(shape.height, [&](std::int64_t y) {
    kernels::Best().compare({.first = firsts + y * shape.channels * shape.first_width(),
                             .first_width = shape.first_width(),
                             .second = seconds,
                             .second_width = shape.second_width(),
                             .height = shape.height,
                             .width = shape.width,
                             .channels = shape.channels,
                             .y = y,
                             .radius = kMatchRadius,
                             .results = results + y * shape.width * shape.stride(),
                             .stride = shape.stride()});
  });
}

// Copies the features and the flow behind the comparison.
void Append(const Shape& shape, const float* features, const float* flow, float* results) {
  for (std::int64_t i = 0; i < shape.pixels(); ++i) {
    float* const to = results + i * shape.stride() + kMatchChannels;
    std::copy_n(features + i * shape.channels, shape.channels, to);
    if (flow != nullptr) std::copy_n(flow + i * kFlowChannels, kFlowChannels, to + shape.channels);
  }
}

// The gradients of one sample: the input and the destinations.
struct Gradients {
  const float* results = nullptr;
  float* from = nullptr;  // To the normalized maps.
  float* to = nullptr;
  float* seen = nullptr;  // Zero at first.
  float* features = nullptr;
  float* flow = nullptr;
};

void SpreadGradients(const Shape& shape, const Sample& sample, const Gradients& gradients) {
  ForEachRow(shape.height, [&](std::int64_t y) {
    const std::int64_t row = y * shape.width * shape.padded();
    kernels::SpreadRow spread{.factors = gradients.results,
                              .stride = shape.stride(),
                              .map = sample.seen,
                              .height = shape.height,
                              .width = shape.width,
                              .channels = shape.padded(),
                              .y = y,
                              .radius = kMatchRadius,
                              .opposite = false,
                              .results = gradients.from + row};
    kernels::Best().spread(spread);
    spread.map = sample.from;
    spread.opposite = true;
    spread.results = gradients.seen + row;
    kernels::Best().spread(spread);
  });
}

void GoBack(const Shape& shape, const Sample& sample, const Gradients& gradients) {
  for (std::int64_t i = 0; i < shape.pixels(); ++i) {
    const float* const from = gradients.results + i * shape.stride() + kMatchChannels;
    float* const to = gradients.features + i * shape.channels;
    for (std::int64_t c = 0; c < shape.channels; ++c) to[c] += from[c];
    for (std::int64_t c = 0; shape.has_flow && c < kFlowChannels; ++c) {
      gradients.flow[i * kFlowChannels + c] = from[shape.channels + c];
    }
  }
  SpreadGradients(shape, sample, gradients);
  // Rows of `seen` share pixels of the map, so one thread must do all of them.
  for (std::int64_t y = 0; y < shape.height; ++y) {
    const std::int64_t row = y * shape.width * shape.padded();
    if (shape.has_flow) {
      kernels::Best().warp_back(RowToWarp(shape, sample, y), gradients.seen + row, gradients.to,
                                gradients.flow + y * shape.width * kFlowChannels);
    } else {
      for (std::int64_t i = 0; i < shape.width * shape.padded(); ++i) {
        gradients.to[row + i] += gradients.seen[row + i];
      }
    }
  }
}

kernels::NormalizedRow Whole(const Shape& shape, const at::Tensor& features,
                             const at::Tensor& normal, const at::Tensor& inverse) {
  return {.features = features.const_data_ptr<float>(),
          .count = features.size(0) * shape.pixels(),
          .channels = shape.channels,
          .normal = normal.mutable_data_ptr<float>(),
          .inverse = inverse.mutable_data_ptr<float>()};
}

class MatchFunction : public torch::autograd::Function<MatchFunction> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& features,
                            const std::optional<at::Tensor>& flow, PicturePairs pairs) {
    const at::Tensor from = features.contiguous(kLayout);
    const at::Tensor through = flow ? flow->contiguous(kLayout) : at::Tensor();
    const Shape shape = ShapeOf(from, through, pairs);
    const auto options = from.options();
    const at::Tensor normal =
        at::empty({from.size(0), shape.height, shape.width, shape.padded()}, options);
    const at::Tensor inverse = at::empty({from.size(0), shape.pixels()}, options);
    const at::Tensor seen =
        at::empty({shape.samples(), shape.height, shape.width, shape.padded()}, options);
    at::Tensor result =
        at::empty({shape.samples(), shape.stride(), shape.height, shape.width}, options, kLayout);
    kernels::Best().normalize(Whole(shape, from, normal, inverse));
    normal.mul_(kLength);
    for (std::int64_t i = 0; i < shape.samples(); ++i) {
      const Sample sample = SampleOf(shape, normal, through, seen, i);
      float* const made = result.mutable_data_ptr<float>() + i * shape.pixels() * shape.stride();
      See(shape, sample);
      Compare(shape, sample, made);
      Append(shape, from.const_data_ptr<float>() + i * shape.pixels() * shape.channels, sample.flow,
             made);
    }
    context->save_for_backward({from, through, normal, inverse, seen});
    context->saved_data["pairs"] = static_cast<std::int64_t>(pairs);
    return result;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& of_result) {
    const auto saved = context->get_saved_variables();
    const Shape shape = ShapeOf(saved[0], saved[1],
                                static_cast<PicturePairs>(context->saved_data["pairs"].toInt()));
    const at::Tensor gradient = of_result[0].contiguous(kLayout);
    const at::Tensor to_normal = at::zeros(saved[2].sizes(), saved[2].options());
    const at::Tensor to_seen = at::zeros(saved[4].sizes(), saved[4].options());
    at::Tensor to_features = at::empty(saved[0].sizes(), saved[0].options(), kLayout).zero_();
    at::Tensor to_flow;
    if (shape.has_flow) to_flow = at::empty(saved[1].sizes(), saved[1].options(), kLayout);
    const std::int64_t of_map = shape.pixels() * shape.padded();
    for (std::int64_t i = 0; i < shape.samples(); ++i) {
      float* const normals = to_normal.mutable_data_ptr<float>();
      GoBack(
          shape, SampleOf(shape, saved[2], saved[1], saved[4], i),
          {.results = gradient.const_data_ptr<float>() + i * shape.pixels() * shape.stride(),
           .from = normals + i * of_map,
           .to = normals + ToPicture(shape.pairs, i) * of_map,
           .seen = to_seen.mutable_data_ptr<float>() + i * of_map,
           .features = to_features.mutable_data_ptr<float>() + i * shape.pixels() * shape.channels,
           .flow = shape.has_flow
                       ? to_flow.mutable_data_ptr<float>() + i * shape.pixels() * kFlowChannels
                       : nullptr});
    }
    to_normal.mul_(kLength);
    kernels::Best().normalize_back(Whole(shape, saved[0], saved[2] / kLength, saved[3]),
                                   to_normal.const_data_ptr<float>(),
                                   to_features.mutable_data_ptr<float>());
    return {to_features, to_flow, at::Tensor()};
  }

 private:
  static Shape ShapeOf(const at::Tensor& features, const at::Tensor& flow, PicturePairs pairs) {
    return {.pairs = pairs,
            .channels = features.size(1),
            .height = features.size(2),
            .width = features.size(3),
            .has_flow = flow.defined()};
  }

  static Sample SampleOf(const Shape& shape, const at::Tensor& normal, const at::Tensor& flow,
                         const at::Tensor& seen, std::int64_t i) {
    const std::int64_t of_map = shape.pixels() * shape.padded();
    return {.from = normal.const_data_ptr<float>() + i * of_map,
            .to = normal.const_data_ptr<float>() + ToPicture(shape.pairs, i) * of_map,
            .flow = flow.defined()
                        ? flow.const_data_ptr<float>() + i * shape.pixels() * kFlowChannels
                        : nullptr,
            .seen = seen.mutable_data_ptr<float>() + i * of_map};
  }
};

}  // namespace

at::Tensor Match(const at::Tensor& features, const at::Tensor& flow, PicturePairs pairs) {
  MILLRACE_CHECK(features.dim() == 4 && features.size(0) == PictureCount(pairs));
  MILLRACE_CHECK(!flow.defined() ||
                 (flow.size(0) == PairCount(pairs) && flow.size(1) == kFlowChannels &&
                  flow.size(2) == features.size(2) && flow.size(3) == features.size(3)));
  const std::int64_t max_numbers = features.size(0) * features.size(2) * features.size(3) *
                                   (kMatchChannels + features.size(1) + kFlowChannels);
  if (gpu::HasKernels(features.device(), max_numbers)) return gpu::Match(features, flow, pairs);
  if (!features.device().is_cpu()) return by_operators::Match(features, flow, pairs);
  MILLRACE_CHECK(features.scalar_type() == at::kFloat);
  return MatchFunction::apply(
      features, flow.defined() ? std::optional<at::Tensor>(flow) : std::nullopt, pairs);
}

}  // namespace millrace::pipeline
