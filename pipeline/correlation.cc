#include "pipeline/correlation.h"

#include <algorithm>
#include <cstdint>

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include "base/check.h"

namespace millrace::pipeline {
namespace {

// Own loops, because there are 49 products of maps, each too small to be worth a call. Forward and
// back at the sizes of 320x240, the three levels take 5 ms of a core; as 49 shifted products 30 ms,
// as products of whole rows by matrix products 19 ms, through im2col 170 ms; the whole rest of a
// step takes about 110 ms. Every loop below is the same step over a row: `sum[x] += a[x] b[x]`.

// One map [channels, height, width] of rows.
template <typename T>
struct Map {
  T* values;
  std::int64_t channels;
  std::int64_t height;
  std::int64_t width;

  explicit Map(const at::Tensor& tensor)
      : values(tensor.data_ptr<std::remove_const_t<T>>()),
        channels(tensor.size(1)),
        height(tensor.size(2)),
        width(tensor.size(3)) {}

  T* row(std::int64_t channel, std::int64_t y) const {
    return values + (channel * height + y) * width;
  }
};

template <typename T>
void AddProducts(T* __restrict sum, const T* __restrict a, const T* __restrict b, std::int64_t n) {
  for (std::int64_t x = 0; x < n; ++x) sum[x] += a[x] * b[x];
}

// Calls step(displacement's channel, y + dy, the first x, its partner x + dx, number of pixels) for
// every displacement that keeps a part of row y inside.
template <typename Step>
void ForEachNeighbourRow(std::int64_t y, std::int64_t height, std::int64_t width, int radius,
                         const Step& step) {
  const int side = 2 * radius + 1;
  for (int dy = -radius; dy <= radius; ++dy) {
    if (y + dy < 0 || y + dy >= height) continue;
    for (int dx = -radius; dx <= radius; ++dx) {
      const std::int64_t begin = std::max(0, -dx);
      const std::int64_t count = width - std::abs(dx);
      if (count <= 0) continue;
      step((dy + radius) * side + dx + radius, y + dy, begin, begin + dx, count);
    }
  }
}

// Rows are independent: each is written by one call only, so threads do not change the result.
template <typename RowTask>
void ForEachRow(std::int64_t height, const RowTask& task) {
  at::parallel_for(0, height, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t y = begin; y < end; ++y) task(y);
  });
}

template <typename T>
void Compare(const Map<const T>& first, const Map<const T>& second, int radius,
             const Map<T>& result) {
  ForEachRow(first.height, [&](std::int64_t y) {
    ForEachNeighbourRow(
        y, first.height, first.width, radius,
        [&](int channel, std::int64_t y2, std::int64_t x, std::int64_t x2, std::int64_t count) {
          for (std::int64_t c = 0; c < first.channels; ++c) {
            AddProducts(result.row(channel, y) + x, first.row(c, y) + x, second.row(c, y2) + x2,
                        count);
          }
        });
  });
}

template <typename T>
void GoBackToFirst(const Map<const T>& gradient, const Map<const T>& second, int radius,
                   const Map<T>& result) {
  ForEachRow(result.height, [&](std::int64_t y) {
    ForEachNeighbourRow(
        y, result.height, result.width, radius,
        [&](int channel, std::int64_t y2, std::int64_t x, std::int64_t x2, std::int64_t count) {
          for (std::int64_t c = 0; c < result.channels; ++c) {
            AddProducts(result.row(c, y) + x, gradient.row(channel, y) + x, second.row(c, y2) + x2,
                        count);
          }
        });
  });
}

// Seen from `second`, the pixel at y was compared with first's at y - dy: the opposite
// displacement, whose channel counts from the other end.
template <typename T>
void GoBackToSecond(const Map<const T>& gradient, const Map<const T>& first, int radius,
                    const Map<T>& result) {
  ForEachRow(result.height, [&](std::int64_t y) {
    ForEachNeighbourRow(
        y, result.height, result.width, radius,
        [&](int channel, std::int64_t y1, std::int64_t x, std::int64_t x1, std::int64_t count) {
          const std::int64_t opposite = gradient.channels - 1 - channel;
          for (std::int64_t c = 0; c < result.channels; ++c) {
            AddProducts(result.row(c, y) + x, gradient.row(opposite, y1) + x1,
                        first.row(c, y1) + x1, count);
          }
        });
  });
}

class Correlation : public torch::autograd::Function<Correlation> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& first,
                            const at::Tensor& second, std::int64_t radius) {
    const at::Tensor a = first.contiguous();
    const at::Tensor b = second.contiguous();
    context->save_for_backward({a, b});
    context->saved_data["radius"] = radius;
    const std::int64_t side = 2 * radius + 1;
    at::Tensor result = at::zeros({1, side * side, a.size(2), a.size(3)}, a.options());
    AT_DISPATCH_FLOATING_TYPES(a.scalar_type(), "Correlate", [&] {
      Compare<scalar_t>(Map<const scalar_t>(a), Map<const scalar_t>(b), static_cast<int>(radius),
                        Map<scalar_t>(result));
    });
    return result;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const int radius = static_cast<int>(context->saved_data["radius"].toInt());
    const at::Tensor gradient = gradients[0].contiguous();
    at::Tensor to_first = at::zeros_like(saved[0]);
    at::Tensor to_second = at::zeros_like(saved[1]);
    AT_DISPATCH_FLOATING_TYPES(gradient.scalar_type(), "Correlate", [&] {
      const Map<const scalar_t> g(gradient);
      GoBackToFirst<scalar_t>(g, Map<const scalar_t>(saved[1]), radius, Map<scalar_t>(to_first));
      GoBackToSecond<scalar_t>(g, Map<const scalar_t>(saved[0]), radius, Map<scalar_t>(to_second));
    });
    return {to_first, to_second, at::Tensor()};
  }
};

}  // namespace

at::Tensor NormalizeChannels(const at::Tensor& features) {
  // Below this squared length a pixel says nothing, and is kept from being blown up.
  constexpr double kLeastSquaredLength = 1e-6;
  return features * (features.square().sum(1, /*keepdim=*/true) + kLeastSquaredLength).rsqrt();
}

at::Tensor Correlate(const at::Tensor& first, const at::Tensor& second, int radius) {
  MILLRACE_CHECK(first.dim() == 4 && first.size(0) == 1 && first.sizes() == second.sizes());
  MILLRACE_CHECK(first.device().is_cpu() && radius >= 0);
  return Correlation::apply(first, second, radius);
}

}  // namespace millrace::pipeline
