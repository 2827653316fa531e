// Whether pictures show the motion that a model sees in them.
//
// The loss alone does not tell. A flow of half a pixel averages neighbouring pixels, which takes a
// fifth off what noise costs: a model that sees motion on an empty road looks better than no
// motion. The reversed flow averages as many pixels. A motion that is there costs more once it is
// reversed; one that is not there costs the same both ways, whatever the noise and the texture.
#pragma once

#include <cstdint>
#include <span>

namespace millrace::service {

/// How a flow looks up one picture in the other.
struct FlowOverPictures {
  /// (dx, dy) for every pixel, rows first: base(x) ~ target(x + flow(x)).
  std::span<const float> flow;
  /// Red, green, blue bytes, rows first.
  std::span<const std::uint8_t> base;
  std::span<const std::uint8_t> target;
  int width = 0;
  int height = 0;
  /// base(x) ~ target(x - flow(x)) instead.
  bool backward = false;
};

struct MotionEvidence {
  /// Mean length of the flow, in pixels.
  double motion = 0;
  /// How much less the pictures differ along the flow than along the reversed flow, as a share of
  /// the latter, over the pixels that move: about 0 where they do not show the motion, 1 where they
  /// show all of it. 0 where no pixel moves.
  double support = 0;

  /// Whether the flow is visible to people and the pictures do not show it.
  [[nodiscard]] bool IsSpurious() const;
};

/// Looks at some two thousand pixels, evenly spread: a tenth of a millisecond. What is not finite,
/// or leads out of the picture either way, is left out.
///
/// REQUIRES: flow has 2 * width * height values, each picture 3 * width * height bytes.
[[nodiscard]] MotionEvidence EvidenceOf(const FlowOverPictures& pictures);

}  // namespace millrace::service
