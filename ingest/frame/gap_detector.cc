#include "ingest/frame/gap_detector.h"

#include <algorithm>
#include <vector>

namespace millrace::ingest {
namespace {

using std::chrono::nanoseconds;

constexpr std::size_t kSteps = 9;
constexpr std::size_t kMinSteps = 3;

}  // namespace

bool GapDetector::IsGap(nanoseconds stream_time) {
  const std::optional<nanoseconds> last = last_;
  last_ = stream_time;
  if (!last) return false;
  const nanoseconds step = stream_time - *last;
  if (step <= nanoseconds(0)) return true;
  const std::optional<nanoseconds> typical = TypicalStep();
  steps_.push_back(step);
  if (steps_.size() > kSteps) steps_.pop_front();
  return typical && 2 * step > 5 * *typical;
}

void GapDetector::Restart() {
  last_.reset();
  steps_.clear();
}

std::optional<nanoseconds> GapDetector::TypicalStep() const {
  if (steps_.size() < kMinSteps) return std::nullopt;
  std::vector<nanoseconds> sorted(steps_.begin(), steps_.end());
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

}  // namespace millrace::ingest
