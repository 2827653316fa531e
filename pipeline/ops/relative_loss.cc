#include "pipeline/ops/relative_loss.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include <ATen/Dispatch.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros_like.h>
#include <c10/util/SmallVector.h>
#include <torch/csrc/autograd/custom_function.h>

#include "base/check.h"
#include "pipeline/ops/cuda/launcher.h"
#include "pipeline/ops/flow_terms.h"
#include "pipeline/ops/relative_loss_cuda.h"

namespace millrace::pipeline {
namespace {

// The objective is a scalar, so the forward also computes its gradient; backward only scales it.

template <typename T>
T Penalty(T difference) {
  constexpr T kSquare = static_cast<T>(kCharbonnierEpsilon * kCharbonnierEpsilon);
  return std::sqrt(difference * difference + kSquare);
}

struct Shape {
  std::int64_t samples;
  std::int64_t channels;
  std::int64_t height;
  std::int64_t width;

  [[nodiscard]] std::int64_t pixels() const { return height * width; }
  [[nodiscard]] double values() const { return static_cast<double>(samples * channels * pixels()); }
};

// One direction: its source and target pictures, [channels][height][width].
template <typename T>
struct Direction {
  const T* from;
  const T* to;
  const T* flow;        // [2][height][width].
  const bool* visible;  // nullptr: all are visible.
  T* gradient;          // In the layout of `flow`.
};

template <typename T>
using Directions = c10::SmallVector<Direction<T>, 2>;

struct Sums {
  double photometric = 0;  // Hidden or outside pixels cost as much as no motion.
  double inside = 0;
};

template <typename T>
double SumAtRest(const Shape& shape, const Direction<T>& direction) {
  double sum = 0;
  for (std::int64_t i = 0; i < shape.channels * shape.pixels(); ++i) {
    sum += Penalty(direction.from[i] - direction.to[i]);
  }
  return sum;
}

// The four pixels around a pixel's match, and its position between them. A match outside the
// picture, or NaN, has no such pixels.
template <typename T>
struct Between {
  std::int64_t left;
  std::int64_t top;
  std::int64_t to_right;  // Offsets in the picture; 0 if it has a single column or row.
  std::int64_t to_below;
  T right;
  T below;

  Between(const Shape& shape, T x, T y)
      : left(std::clamp<std::int64_t>(static_cast<std::int64_t>(x), 0,
                                      std::max<std::int64_t>(shape.width - 2, 0))),
        top(std::clamp<std::int64_t>(static_cast<std::int64_t>(y), 0,
                                     std::max<std::int64_t>(shape.height - 2, 0))),
        to_right(shape.width > 1 ? 1 : 0),
        to_below(shape.height > 1 ? shape.width : 0),
        right(x - static_cast<T>(left)),
        below(y - static_cast<T>(top)) {}
};

// Returns a pixel's cost over all channels. If the pixel counts, adds its gradient times `weight`.
template <typename T>
T Explain(const Shape& shape, const Direction<T>& direction, std::int64_t pixel,
          const Between<T>& at, T weight) {
  T cost = 0;
  T along_x = 0;
  T along_y = 0;
  for (std::int64_t c = 0; c < shape.channels; ++c) {
    const T* const corner = direction.to + c * shape.pixels() + at.top * shape.width + at.left;
    const T top_step = corner[at.to_right] - corner[0];
    const T bottom_step = corner[at.to_below + at.to_right] - corner[at.to_below];
    const T top = corner[0] + at.right * top_step;
    const T bottom = corner[at.to_below] + at.right * bottom_step;
    const T seen = top + at.below * (bottom - top);
    const T difference = direction.from[c * shape.pixels() + pixel] - seen;
    const T penalty = Penalty(difference);
    const T slope = -difference / penalty;
    cost += penalty;
    along_x += slope * (top_step + at.below * (bottom_step - top_step));
    along_y += slope * (bottom - top);
  }
  direction.gradient[pixel] += weight * along_x;
  direction.gradient[shape.pixels() + pixel] += weight * along_y;
  return cost;
}

template <typename T>
T CostAtRest(const Shape& shape, const Direction<T>& direction, std::int64_t pixel) {
  T cost = 0;
  for (std::int64_t i = pixel; i < shape.channels * shape.pixels(); i += shape.pixels()) {
    cost += Penalty(direction.from[i] - direction.to[i]);
  }
  return cost;
}

template <typename T>
Sums SumCosts(const Shape& shape, const Direction<T>& direction, T weight) {
  Sums sums;
  const T max_x = static_cast<T>(shape.width - 1);
  const T max_y = static_cast<T>(shape.height - 1);
  for (std::int64_t row = 0; row < shape.height; ++row) {
    for (std::int64_t column = 0; column < shape.width; ++column) {
      const std::int64_t pixel = row * shape.width + column;
      const T x = static_cast<T>(column) + direction.flow[pixel];
      const T y = static_cast<T>(row) + direction.flow[shape.pixels() + pixel];
      const bool inside = x >= 0 && x <= max_x && y >= 0 && y <= max_y;
      const bool hidden = inside && direction.visible != nullptr && !direction.visible[pixel];
      const T cost =
          inside ? Explain(shape, direction, pixel, Between<T>(shape, x, y), hidden ? T(0) : weight)
                 : CostAtRest(shape, direction, pixel);
      sums.inside += cost;
      sums.photometric += hidden ? CostAtRest(shape, direction, pixel) : cost;
    }
  }
  return sums;
}

// Neighbours along one dimension. `offset` leads from the first to the second; there are `rows` x
// `columns` pairs.
struct Steps {
  std::int64_t offset;
  std::int64_t rows;
  std::int64_t columns;
};

// The weight of each step of the flow in a row; the formula is EdgeAwareRoughness() in
// flow_terms.h.
template <typename T>
void WeighSteps(const Shape& shape, const T* picture, const Steps& steps, T* weights) {
  for (std::int64_t x = 0; x < steps.columns; ++x) {
    T step = 0;
    for (std::int64_t c = 0; c < shape.channels; ++c) {
      const T* const at = picture + c * shape.pixels() + x;
      step += std::abs(at[steps.offset] - at[0]);
    }
    weights[x] =
        std::exp(step * static_cast<T>(-kEdgeSharpness / static_cast<double>(shape.channels)));
  }
}

// Returns the sum of the weighted penalties; adds its gradient times `scale`.
template <typename T>
double Roughen(const Shape& shape, const Direction<T>& direction, const Steps& steps, T scale,
               T* weights) {
  double sum = 0;
  for (std::int64_t row = 0; row < steps.rows; ++row) {
    WeighSteps(shape, direction.from + row * shape.width, steps, weights);
    for (int component = 0; component < 2; ++component) {
      const std::int64_t begin = component * shape.pixels() + row * shape.width;
      const T* const flow = direction.flow + begin;
      T* const gradient = direction.gradient + begin;
      for (std::int64_t x = 0; x < steps.columns; ++x) {
        const T step = flow[x + steps.offset] - flow[x];
        const T penalty = Penalty(step);
        const T slope = scale * weights[x] * step / penalty;
        sum += weights[x] * penalty;
        gradient[x + steps.offset] += slope;
        gradient[x] -= slope;
      }
    }
  }
  return sum;
}

enum : int { kPhotometric, kRoughness, kScore, kNoMotion, kFigures };

template <typename T>
double RoughnessAlong(const Shape& shape, const Directions<T>& directions, const Steps& steps,
                      double smoothness) {
  const double count = static_cast<double>(2 * shape.samples * steps.rows * steps.columns);
  if (count == 0) return 0;
  const at::Tensor weights = at::empty({shape.width}, c10::CppTypeToScalarType<T>::value);
  double sum = 0;
  for (const Direction<T>& direction : directions) {
    sum += Roughen(shape, direction, steps, static_cast<T>(smoothness / count),
                   weights.mutable_data_ptr<T>());
  }
  return sum / count;
}

/// Fills `figures` and returns the objective. REQUIRES: the gradients are zero.
template <typename T>
double ComputeLoss(const Shape& shape, const Directions<T>& directions, double smoothness,
                   T* figures) {
  const double of_one = shape.values() / static_cast<double>(shape.samples);
  double at_rest = 0;
  for (const Direction<T>& direction : directions) {
    const double sum = SumAtRest(shape, direction);
    if (&direction == directions.data()) figures[kNoMotion] = static_cast<T>(sum / of_one);
    at_rest += sum;
  }
  const double scale = 1 / std::max(at_rest / shape.values(), kMinAtRest);
  double photometric = 0;
  for (const Direction<T>& direction : directions) {
    const Sums sums = SumCosts(shape, direction, static_cast<T>(scale / shape.values()));
    if (&direction == directions.data()) figures[kScore] = static_cast<T>(sums.inside / of_one);
    photometric += sums.photometric;
  }
  const double roughness =
      RoughnessAlong<T>(shape, directions, {shape.width, shape.height - 1, shape.width},
                        smoothness) +
      RoughnessAlong<T>(shape, directions, {1, shape.height, shape.width - 1}, smoothness);
  figures[kPhotometric] = static_cast<T>(photometric / shape.values());
  figures[kRoughness] = static_cast<T>(roughness);
  return photometric / shape.values() * scale + smoothness * roughness;
}

class Relative : public torch::autograd::Function<Relative> {
 public:
  static torch::autograd::variable_list forward(torch::autograd::AutogradContext* context,
                                                const at::Tensor& flow, const at::Tensor& pictures,
                                                const std::optional<at::Tensor>& visible,
                                                double smoothness) {
    const at::Tensor flows = flow.contiguous();
    const at::Tensor pair = pictures.contiguous();
    const at::Tensor seen = visible ? visible->contiguous() : at::Tensor();
    const Shape shape{flow.size(0), pair.size(1), pair.size(2), pair.size(3)};
    at::Tensor gradient = at::zeros_like(flows);
    at::Tensor objective = at::empty({}, flows.options());
    at::Tensor figures = at::empty({kFigures}, flows.options());
    AT_DISPATCH_FLOATING_TYPES(flows.scalar_type(), "ComputeRelativeLoss", [&] {
      const scalar_t* const picture = pair.const_data_ptr<scalar_t>();
      const std::int64_t size = shape.channels * shape.pixels();
      Directions<scalar_t> directions;
      for (std::int64_t i = 0; i < shape.samples; ++i) {
        directions.push_back(
            {.from = picture + i * size,
             .to = picture + (1 - i) * size,
             .flow = flows.const_data_ptr<scalar_t>() + i * 2 * shape.pixels(),
             .visible = visible ? seen.const_data_ptr<bool>() + i * shape.pixels() : nullptr,
             .gradient = gradient.mutable_data_ptr<scalar_t>() + i * 2 * shape.pixels()});
      }
      *objective.mutable_data_ptr<scalar_t>() = static_cast<scalar_t>(
          ComputeLoss(shape, directions, smoothness, figures.mutable_data_ptr<scalar_t>()));
    });
    context->save_for_backward({gradient});
    context->mark_non_differentiable({figures});
    return {objective, figures};
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    return {context->get_saved_variables()[0] * gradients[0], at::Tensor(), at::Tensor(),
            at::Tensor()};
  }
};

}  // namespace

bool HasRelativeLoss(const at::Tensor& pictures, const at::Tensor& flow) {
  return flow.device().is_cpu() ||
         gpu::HasKernels(flow.device(), pictures.numel() + 2 * flow.numel());
}

RelativeLoss ComputeRelativeLoss(const at::Tensor& pictures, const at::Tensor& flow,
                                 const at::Tensor& visible, double smoothness) {
  MILLRACE_CHECK(HasRelativeLoss(pictures, flow) && pictures.scalar_type() == flow.scalar_type());
  if (!flow.device().is_cpu()) {
    return gpu::ComputeRelativeLoss(pictures, flow, visible, smoothness);
  }
  const auto made = Relative::apply(
      flow, pictures, visible.defined() ? std::optional<at::Tensor>(visible) : std::nullopt,
      smoothness);
  const at::Tensor figures = made[1].detach();
  return {.objective = made[0],
          .photometric = figures.select(0, kPhotometric),
          .roughness = figures.select(0, kRoughness),
          .score = figures.select(0, kScore),
          .no_motion = figures.select(0, kNoMotion)};
}

}  // namespace millrace::pipeline
