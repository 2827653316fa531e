#include "pipeline/decisions/flow_motion.h"

#include <cmath>
#include <cstdint>

#include "base/check.h"

namespace millrace::pipeline {

FlowMotion MotionOf(std::span<const float> flow, int width, int height, double moving_pixels) {
  MILLRACE_CHECK(width > 0 && height > 0);
  MILLRACE_CHECK(flow.size() == std::size_t{2} * width * height);
  FlowMotion motion;
  std::int64_t moving = 0;
  std::int64_t leaving = 0;
  const float* next = flow.data();
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x, next += 2) {
      const float to_x = static_cast<float>(x) + next[0];
      const float to_y = static_cast<float>(y) + next[1];
      const double length = std::sqrt(next[0] * next[0] + next[1] * next[1]);
      motion.mean_x += next[0];
      motion.mean_y += next[1];
      motion.length += length;
      moving += length > moving_pixels ? 1 : 0;
      const bool inside = 0 <= to_x && to_x <= static_cast<float>(width - 1) && 0 <= to_y &&
                          to_y <= static_cast<float>(height - 1);
      leaving += inside ? 0 : 1;
    }
  }
  const double pixels = static_cast<double>(width) * height;
  motion.mean_x /= pixels;
  motion.mean_y /= pixels;
  motion.length /= pixels;
  motion.moving_share = static_cast<double>(moving) / pixels;
  motion.leaving_share = static_cast<double>(leaving) / pixels;
  return motion;
}

}  // namespace millrace::pipeline
