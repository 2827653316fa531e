// The kernels of ComputeRelativeLoss() (relative_loss.h). The objective is a scalar, so the forward
// pass also computes its gradient.
#pragma once

#include "pipeline/ops/cuda/body.h"

// NOLINTBEGIN(bugprone-implicit-widening-of-multiplication-result): an Index reaches every element.
namespace millrace::pipeline::gpu {

struct LossShape {
  MapShape picture = {};
  Index samples = 0;  // Sample i leads from picture i to the other one of the two.
  float smoothness = 0;
  float square = 0;  // The square of the penalty's epsilon.
  float sharpness = 0;
  float min_at_rest = 0;

  /// The number of values of the pictures, over all samples.
  [[nodiscard]] MILLRACE_BODY float values() const {
    return static_cast<float>(samples * picture.size());
  }
  [[nodiscard]] MILLRACE_BODY float Penalty(float difference) const {
    return std::sqrt(difference * difference + square);
  }
};

/// The loss of no motion. One element is a pixel, over all samples.
struct RestBody {
  LossShape shape = {};
  const float* pictures = nullptr;
  float* at_rest = nullptr;  // [samples][pixels].

  MILLRACE_BODY void operator()(Index i) const {
    const MapShape& picture = shape.picture;
    const Index at = picture.At(i);
    const Index other =
        picture.At(i % picture.pixels() + (i < picture.pixels() ? picture.pixels() : 0));
    float cost = 0;
    for (Index c = 0; c < picture.channels; ++c) {
      cost += shape.Penalty(pictures[at + c * picture.pixels()] -
                            pictures[other + c * picture.pixels()]);
    }
    at_rest[i] = cost;
  }
};

/// The flow's loss per pixel and the gradient. One element is a pixel, over all samples.
struct JudgeBody {
  LossShape shape = {};
  const float* pictures = nullptr;
  const float* flow = nullptr;     // [samples][2][pixels].
  const bool* visible = nullptr;   // nullptr: all are visible.
  const float* at_rest = nullptr;  // [samples][pixels]; rest_sums has its sum per sample.
  const float* rest_sums = nullptr;
  float* judged = nullptr;  // [samples][pixels] each. Hidden and outside pixels cost as in at_rest.
  float* inside = nullptr;
  float* rough = nullptr;
  float* gradient = nullptr;  // In the layout of the flow.

  MILLRACE_BODY void operator()(Index i) const {
    const Index pixels = shape.picture.pixels();
    const Index sample = i / pixels;
    Pixel at{.sample = sample,
             .pixel = i % pixels,
             .x = i % pixels % shape.picture.width,
             .y = i % pixels / shape.picture.width,
             .flow = flow + sample * 2 * pixels + i % pixels};
    Explain(i, at);
    Smooth(i, at);
    float* const to = gradient + sample * 2 * pixels + at.pixel;
    to[0] = at.along_x;
    to[pixels] = at.along_y;
  }

 private:
  struct Pixel {
    Index sample;
    Index pixel;
    Index x;
    Index y;
    const float* flow;  // At this pixel.
    float along_x = 0;  // The gradient.
    float along_y = 0;
  };
  struct Steps {
    Index left;
    Index top;
    Index to_right;  // Offsets in the picture; 0 if it has a single column or row.
    Index to_below;
    float right;
    float below;
  };

  [[nodiscard]] MILLRACE_BODY static Index Within(float at, Index side) {
    const auto whole = static_cast<Index>(at);
    const Index max = side > 2 ? side - 2 : 0;
    return whole < max ? whole : max;
  }

  [[nodiscard]] MILLRACE_BODY Steps Between(float x, float y) const {
    const MapShape& picture = shape.picture;
    Steps steps{.left = Within(x, picture.width),
                .top = Within(y, picture.height),
                .to_right = picture.width > 1 ? 1 : 0,
                .to_below = picture.height > 1 ? picture.width : 0,
                .right = 0,
                .below = 0};
    steps.right = x - static_cast<float>(steps.left);
    steps.below = y - static_cast<float>(steps.top);
    return steps;
  }

  // A match outside the picture, or NaN, costs as much as no motion.
  MILLRACE_BODY void Explain(Index i, Pixel& at) const {
    const MapShape& picture = shape.picture;
    const float x = static_cast<float>(at.x) + at.flow[0];
    const float y = static_cast<float>(at.y) + at.flow[picture.pixels()];
    const bool is_inside = x >= 0 && x <= static_cast<float>(picture.width - 1) && y >= 0 &&
                           y <= static_cast<float>(picture.height - 1);
    const bool is_judged = is_inside && (visible == nullptr || visible[i]);
    const float cost =
        is_inside ? Compare(Between(x, y), is_judged ? Weight() : 0.0F, at) : at_rest[i];
    inside[i] = cost;
    judged[i] = is_judged || !is_inside ? cost : at_rest[i];
  }

  // The weight of one pixel's cost in the objective.
  [[nodiscard]] MILLRACE_BODY float Weight() const {
    float rest = 0;
    for (Index sample = 0; sample < shape.samples; ++sample) rest += rest_sums[sample];
    rest /= shape.values();
    return 1 / ((rest > shape.min_at_rest ? rest : shape.min_at_rest) * shape.values());
  }

  // Returns the pixel's cost over all channels; adds the gradient times `weight`.
  [[nodiscard]] MILLRACE_BODY float Compare(const Steps& between, float weight, Pixel& at) const {
    const MapShape& picture = shape.picture;
    float cost = 0;
    for (Index c = 0; c < picture.channels; ++c) {
      const float* const corner = pictures + (1 - at.sample) * picture.size() +
                                  c * picture.pixels() + between.top * picture.width + between.left;
      const float top_step = corner[between.to_right] - corner[0];
      const float bottom_step =
          corner[between.to_below + between.to_right] - corner[between.to_below];
      const float top = corner[0] + between.right * top_step;
      const float bottom = corner[between.to_below] + between.right * bottom_step;
      const float difference =
          pictures[at.sample * picture.size() + c * picture.pixels() + at.pixel] -
          (top + between.below * (bottom - top));
      const float penalty = shape.Penalty(difference);
      const float slope = -weight * difference / penalty;
      cost += penalty;
      at.along_x += slope * (top_step + between.below * (bottom_step - top_step));
      at.along_y += slope * (bottom - top);
    }
    return cost;
  }

  // Visits the steps to the four neighbours. The cost has the right and lower steps only.
  MILLRACE_BODY void Smooth(Index i, Pixel& at) const {
    const MapShape& picture = shape.picture;
    const auto edges = static_cast<float>(2 * shape.samples);
    const float across =
        1 /
        (edges * static_cast<float>(picture.height * (picture.width > 1 ? picture.width - 1 : 1)));
    const float down =
        1 /
        (edges * static_cast<float>((picture.height > 1 ? picture.height - 1 : 1) * picture.width));
    float cost = 0;
    if (at.x + 1 < picture.width) cost += Step(at, 1, across);
    if (at.y + 1 < picture.height) cost += Step(at, picture.width, down);
    if (at.x > 0) static_cast<void>(Step(at, -1, across));
    if (at.y > 0) static_cast<void>(Step(at, -picture.width, down));
    rough[i] = cost;
  }

  // Returns the cost of the step to the pixel at `offset`, weighted by `share`; adds the gradient.
  [[nodiscard]] MILLRACE_BODY float Step(Pixel& at, Index offset, float share) const {
    const MapShape& picture = shape.picture;
    const float* const here = pictures + at.sample * picture.size() + at.pixel;
    float edge = 0;
    for (Index c = 0; c < picture.channels; ++c) {
      edge += std::fabs(here[c * picture.pixels() + offset] - here[c * picture.pixels()]);
    }
    const float weight =
        share * std::exp(-shape.sharpness * edge / static_cast<float>(picture.channels));
    const float step_x = at.flow[0] - at.flow[offset];
    const float step_y = at.flow[picture.pixels()] - at.flow[picture.pixels() + offset];
    const float penalty_x = shape.Penalty(step_x);
    const float penalty_y = shape.Penalty(step_y);
    at.along_x += shape.smoothness * weight * step_x / penalty_x;
    at.along_y += shape.smoothness * weight * step_y / penalty_y;
    return weight * (penalty_x + penalty_y);
  }
};

/// The fields of RelativeLoss. One element.
struct SumUpBody {
  enum : int { kPhotometric, kRoughness, kScore, kNoMotion, kFigures };

  LossShape shape = {};
  const float* rest_sums = nullptr;  // [samples] each.
  const float* judged = nullptr;
  const float* inside = nullptr;
  const float* rough = nullptr;
  float* objective = nullptr;
  float* figures = nullptr;

  MILLRACE_BODY void operator()(Index /*i*/) const {
    float rest = 0;
    float cost = 0;
    float roughness = 0;
    for (Index sample = 0; sample < shape.samples; ++sample) {
      rest += rest_sums[sample];
      cost += judged[sample];
      roughness += rough[sample];
    }
    rest /= shape.values();
    cost /= shape.values();
    const auto of_one = static_cast<float>(shape.picture.size());
    figures[kPhotometric] = cost;
    figures[kRoughness] = roughness;
    figures[kScore] = inside[0] / of_one;
    figures[kNoMotion] = rest_sums[0] / of_one;
    *objective =
        cost / (rest > shape.min_at_rest ? rest : shape.min_at_rest) + shape.smoothness * roughness;
  }
};

}  // namespace millrace::pipeline::gpu
// NOLINTEND(bugprone-implicit-widening-of-multiplication-result)
