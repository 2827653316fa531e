#include "pipeline/evaluation/pictures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "base/check.h"
#include "pipeline/learner/planar_picture.h"

namespace millrace::pipeline {
namespace {

float Charbonnier(float difference) { return std::sqrt(difference * difference + 1e-6F); }

// The four pixels around a point, with their weights. The point is clamped to the picture.
struct Neighbours {
  std::array<std::size_t, 4> at;
  std::array<float, 4> share;

  Neighbours(float x, float y, int width, int height) {
    x = std::clamp(x, 0.0F, static_cast<float>(width - 1));
    y = std::clamp(y, 0.0F, static_cast<float>(height - 1));
    const int left = std::min(static_cast<int>(x), std::max(0, width - 2));
    const int top = std::min(static_cast<int>(y), std::max(0, height - 2));
    const float right_share = x - static_cast<float>(left);
    const float low_share = y - static_cast<float>(top);
    const std::size_t right = left + 1 < width ? 1 : 0;
    const std::size_t down = top + 1 < height ? static_cast<std::size_t>(width) : 0;
    const std::size_t first = static_cast<std::size_t>(top) * width + left;
    at = {first, first + right, first + down, first + down + right};
    share = {(1 - right_share) * (1 - low_share), right_share * (1 - low_share),
             (1 - right_share) * low_share, right_share * low_share};
  }

  // The weighted mean of `values`, whose pixels are `stride` apart.
  template <typename Value>
  [[nodiscard]] float Mean(std::span<const Value> values, std::size_t stride = 1,
                           std::size_t channel = 0) const {
    float sum = 0;
    for (std::size_t i = 0; i < at.size(); ++i) {
      sum += share[i] * static_cast<float>(values[at[i] * stride + channel]);
    }
    return sum;
  }
};

}  // namespace

std::vector<float> GreyOf(std::span<const std::uint8_t> rgb) { return PlanarOf(rgb, 1); }

PairOfPictures::PairOfPictures(std::span<const std::uint8_t> previous,
                               std::span<const std::uint8_t> current, int width, int height)
    : width_(width),
      height_(height),
      previous_rgb_(previous),
      current_rgb_(current),
      previous_(GreyOf(previous)),
      current_(GreyOf(current)) {
  const std::size_t pixels = static_cast<std::size_t>(width) * height;
  MILLRACE_CHECK(previous_.size() == pixels && current_.size() == pixels);
  for (std::size_t i = 0; i < pixels; ++i) {
    loss_no_motion_ += Charbonnier(previous_[i] - current_[i]);
  }
  loss_no_motion_ /= static_cast<double>(pixels);
}

double PairOfPictures::Loss(std::span<const float> flow) const {
  MILLRACE_CHECK(flow.size() == 2 * previous_.size());
  const std::span<const float> current(current_);
  double sum = 0;
  std::size_t pixel = 0;
  for (int y = 0; y < height_; ++y) {
    for (int x = 0; x < width_; ++x, ++pixel) {
      const float to_x = static_cast<float>(x) + flow[2 * pixel];
      const float to_y = static_cast<float>(y) + flow[2 * pixel + 1];
      // Also false for a NaN.
      const bool inside = to_x >= 0 && to_x <= static_cast<float>(width_ - 1) && to_y >= 0 &&
                          to_y <= static_cast<float>(height_ - 1);
      const float seen =
          inside ? Neighbours(to_x, to_y, width_, height_).Mean(current) : current[pixel];
      sum += Charbonnier(previous_[pixel] - seen);
    }
  }
  return sum / static_cast<double>(pixel);
}

std::vector<float> PairOfPictures::Differences(std::span<const float> flow) const {
  MILLRACE_CHECK(flow.size() == 2 * previous_.size());
  std::vector<float> differences(previous_.size());
  std::size_t pixel = 0;
  for (int y = 0; y < height_; ++y) {
    for (int x = 0; x < width_; ++x, ++pixel) {
      const float dx = flow[2 * pixel];
      const float dy = flow[2 * pixel + 1];
      const bool finite = std::isfinite(dx) && std::isfinite(dy);
      const Neighbours seen(static_cast<float>(x) + (finite ? dx : 0),
                            static_cast<float>(y) + (finite ? dy : 0), width_, height_);
      for (std::size_t channel = 0; channel < 3; ++channel) {
        const auto was = static_cast<float>(previous_rgb_[3 * pixel + channel]);
        const float difference = std::abs(was - seen.Mean(current_rgb_, 3, channel)) / 255.0F;
        differences[pixel] = std::max(differences[pixel], difference);
      }
    }
  }
  return differences;
}

std::vector<float> ResizedFlow(std::span<const float> flow, int width, int height, int to_width,
                               int to_height) {
  MILLRACE_CHECK(flow.size() == std::size_t{2} * width * height);
  if (width == to_width && height == to_height) return {flow.begin(), flow.end()};
  const float scale_x = static_cast<float>(to_width) / static_cast<float>(width);
  const float scale_y = static_cast<float>(to_height) / static_cast<float>(height);
  std::vector<float> resized;
  resized.reserve(std::size_t{2} * to_width * to_height);
  for (int y = 0; y < to_height; ++y) {
    for (int x = 0; x < to_width; ++x) {
      // Pixels are areas: the centre of a pixel is half a pixel from its edge.
      const Neighbours around((static_cast<float>(x) + 0.5F) / scale_x - 0.5F,
                              (static_cast<float>(y) + 0.5F) / scale_y - 0.5F, width, height);
      resized.push_back(around.Mean(flow, 2, 0) * scale_x);
      resized.push_back(around.Mean(flow, 2, 1) * scale_y);
    }
  }
  return resized;
}

}  // namespace millrace::pipeline
