#include "service/frames/motion_evidence.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "base/check.h"
#include "pipeline/learner/green_picture.h"

namespace millrace::service {
namespace {

// Mean motion of the picture. Below it, the page's colours look white.
constexpr double kVisibleMotion = 0.1;
// In nine of ten cases, noise in two thousand pixels stays below it. This is also true for a flow
// that was searched in that noise, as DIS does. Real motion of a pixel under that noise has above
// 0.5.
constexpr double kMinSupport = 0.15;
// The minimum length of motion: a shorter flow leads to nearly the same pixels in both directions.
constexpr float kMovingPixel = 0.1F;
constexpr double kSamples = 2000;

class Lookup {
 public:
  explicit Lookup(const pipeline::FlowOverPictures& pictures)
      : base_(pictures.base, pictures.width, pictures.height),
        target_(pictures.target, pictures.width, pictures.height) {}

  [[nodiscard]] bool Holds(float x, float y) const {
    return x >= 0 && y >= 0 && x <= static_cast<float>(base_.width() - 1) &&
           y <= static_cast<float>(base_.height() - 1);
  }

  /// The difference between the base at (x, y) and the target at (to_x, to_y): green, bilinear.
  /// REQUIRES: Holds(to_x, to_y).
  [[nodiscard]] double Difference(int x, int y, float to_x, float to_y) const {
    return std::abs(base_.At(x, y) - target_.Between(to_x, to_y));
  }

 private:
  const pipeline::GreenPicture base_;
  const pipeline::GreenPicture target_;
};

}  // namespace

bool MotionEvidence::IsSpurious() const {
  return motion >= kVisibleMotion && support < kMinSupport;
}

MotionEvidence EvidenceOf(const pipeline::FlowOverPictures& pictures) {
  const auto pixels = static_cast<std::size_t>(pictures.width) * pictures.height;
  MILLRACE_CHECK(pictures.flow.size() == 2 * pixels && pictures.base.size() == 3 * pixels &&
                 pictures.target.size() == 3 * pixels);
  const int step = std::max(1, static_cast<int>(std::sqrt(static_cast<double>(pixels) / kSamples)));
  const Lookup lookup(pictures);
  double lengths = 0;
  double along = 0;
  double reversed = 0;
  int samples = 0;
  for (int y = step / 2; y < pictures.height; y += step) {
    for (int x = step / 2; x < pictures.width; x += step) {
      const std::size_t at = (static_cast<std::size_t>(y) * pictures.width + x) * 2;
      const float sign = pictures.backward ? -1.0F : 1.0F;
      const float dx = sign * pictures.flow[at];
      const float dy = sign * pictures.flow[at + 1];
      const float length = std::hypot(dx, dy);
      if (!std::isfinite(length)) continue;
      ++samples;
      lengths += length;
      const auto from_x = static_cast<float>(x);
      const auto from_y = static_cast<float>(y);
      if (length < kMovingPixel || !lookup.Holds(from_x + dx, from_y + dy) ||
          !lookup.Holds(from_x - dx, from_y - dy)) {
        continue;
      }
      along += lookup.Difference(x, y, from_x + dx, from_y + dy);
      reversed += lookup.Difference(x, y, from_x - dx, from_y - dy);
    }
  }
  return {.motion = samples > 0 ? lengths / samples : 0,
          .support = reversed > 0 ? 1 - along / reversed : 0};
}

}  // namespace millrace::service
