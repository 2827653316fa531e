#include "service/frames/flow_colors.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "base/check.h"

namespace millrace::service {
namespace {

// The wheel's steps between its six colours: more where the eye distinguishes more colours (Baker
// et al., "A Database and Evaluation Methodology for Optical Flow").
constexpr int kRedYellow = 15;
constexpr int kYellowGreen = 6;
constexpr int kGreenCyan = 4;
constexpr int kCyanBlue = 11;
constexpr int kBlueMagenta = 13;
constexpr int kMagentaRed = 6;
constexpr int kWheelColors =
    kRedYellow + kYellowGreen + kGreenCyan + kCyanBlue + kBlueMagenta + kMagentaRed;

using Color = std::array<float, 3>;  // 0 to 1.

constexpr std::array<Color, kWheelColors> MakeWheel() {
  struct Arc {
    int steps;
    Color from;
    Color to;
  };
  constexpr Color kRed = {1, 0, 0};
  constexpr Color kYellow = {1, 1, 0};
  constexpr Color kGreen = {0, 1, 0};
  constexpr Color kCyan = {0, 1, 1};
  constexpr Color kBlue = {0, 0, 1};
  constexpr Color kMagenta = {1, 0, 1};
  constexpr std::array<Arc, 6> kArcs = {{{kRedYellow, kRed, kYellow},
                                         {kYellowGreen, kYellow, kGreen},
                                         {kGreenCyan, kGreen, kCyan},
                                         {kCyanBlue, kCyan, kBlue},
                                         {kBlueMagenta, kBlue, kMagenta},
                                         {kMagentaRed, kMagenta, kRed}}};
  std::array<Color, kWheelColors> wheel = {};
  std::size_t next = 0;
  for (const Arc& arc : kArcs) {
    for (int step = 0; step < arc.steps; ++step) {
      const float share = static_cast<float>(step) / static_cast<float>(arc.steps);
      Color& color = wheel[next++];
      for (std::size_t c = 0; c < 3; ++c) {
        color[c] = arc.from[c] + share * (arc.to[c] - arc.from[c]);
      }
    }
  }
  return wheel;
}

constexpr std::array<Color, kWheelColors> kWheel = MakeWheel();

std::uint8_t Channel(float hue, float length) {
  // Inside the wheel, from white to the hue; beyond it darker, to show that the scale is exceeded.
  const float value = length <= 1 ? 1 - length * (1 - hue) : hue * 0.75F;
  return static_cast<std::uint8_t>(255.0F * value);
}

constexpr float kMinScale = 0.5F;

}  // namespace

Rgb FlowColor(float dx, float dy) {
  if (!std::isfinite(dx) || !std::isfinite(dy)) return {};
  const float length = std::hypot(dx, dy);
  const float turn = std::atan2(-dy, -dx) / std::numbers::pi_v<float>;  // -1 to 1.
  const float place = (turn + 1) / 2 * static_cast<float>(kWheelColors - 1);
  const auto before = static_cast<std::size_t>(place);
  const std::size_t after = (before + 1) % kWheelColors;
  const float share = place - static_cast<float>(before);
  std::array<std::uint8_t, 3> color = {};
  for (std::size_t c = 0; c < 3; ++c) {
    const float hue = (1 - share) * kWheel[before][c] + share * kWheel[after][c];
    color[c] = Channel(hue, length);
  }
  return {color[0], color[1], color[2]};
}

std::vector<std::uint8_t> FlowColors(std::span<const float> flow, float scale) {
  MILLRACE_CHECK(scale > 0);
  std::vector<std::uint8_t> rgb;
  rgb.reserve(flow.size() / 2 * 3);
  for (std::size_t i = 0; i + 1 < flow.size(); i += 2) {
    const Rgb color = FlowColor(flow[i] / scale, flow[i + 1] / scale);
    rgb.insert(rgb.end(), {color.red, color.green, color.blue});
  }
  return rgb;
}

std::vector<std::uint8_t> FlowWheel(int size) {
  MILLRACE_CHECK(size > 1);
  const float middle = static_cast<float>(size - 1) / 2;
  std::vector<float> motion;
  for (int y = 0; y < size; ++y) {
    for (int x = 0; x < size; ++x) {
      motion.push_back(static_cast<float>(x) - middle);
      motion.push_back(static_cast<float>(y) - middle);
    }
  }
  return FlowColors(motion, middle);
}

float RoundScale(float pixels) {
  if (!(pixels > kMinScale)) return kMinScale;
  float decade = 1;
  while (true) {
    for (float step : {1.0F, 2.0F, 3.0F, 5.0F}) {
      if (pixels <= step * decade || decade >= 1e6F) return step * decade;
    }
    decade *= 10;
  }
}

float FlowScale::Next(std::span<const float> flow) {
  std::vector<float> lengths;
  lengths.reserve(flow.size() / 2);
  for (std::size_t i = 0; i + 1 < flow.size(); i += 2) {
    const float length = std::hypot(flow[i], flow[i + 1]);
    if (std::isfinite(length)) lengths.push_back(length);
  }
  float fast = 0;
  if (!lengths.empty()) {
    // The quantile ignores a few outliers, which would wash out the other pixels.
    const auto rank = static_cast<std::ptrdiff_t>(static_cast<double>(lengths.size() - 1) * 0.995);
    std::nth_element(lengths.begin(), lengths.begin() + rank, lengths.end());
    fast = lengths[static_cast<std::size_t>(rank)];
  }
  peak_ = std::max(fast, peak_ * 0.98F);
  return RoundScale(peak_);
}

}  // namespace millrace::service
