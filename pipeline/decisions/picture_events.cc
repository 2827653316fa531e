#include "pipeline/decisions/picture_events.h"

#include <cstdlib>
#include <vector>

#include "base/check.h"
#include "base/median.h"

namespace millrace::pipeline {
namespace {

// Half a second to a few seconds of a camera.
constexpr std::size_t kRemembered = 31;
constexpr std::size_t kMinRemembered = 5;

// Limits of the mean difference of a pixel, of 0 to 1. A repetition is a sixteenth of a grey level
// at most: less than the noise of any sensor.
constexpr double kMaxRepetition = 0.00025;
// A cut is 15 grey levels at least, and several times what the scene's own motion makes.
constexpr double kMinCut = 0.06;
constexpr double kCutToMedian = 4;

}  // namespace

double MeanDifference(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b) {
  MILLRACE_CHECK(!a.empty() && a.size() == b.size());
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::abs(int{a[i]} - int{b[i]});
  constexpr double kMaxByte = 255;
  return static_cast<double>(sum) / (kMaxByte * static_cast<double>(a.size()));
}

SkipReason PictureEvents::Next(double difference) {
  if (difference <= kMaxRepetition) {
    ++repetitions_;
    return repetitions_ >= options_.frozen_after ? SkipReason::kFrozen : SkipReason::kRepeated;
  }
  repetitions_ = 0;
  const bool cut = IsCut(difference);
  // A cut counts, too: an endless series of cuts means that the camera now moves faster.
  differences_.push_back(difference);
  if (differences_.size() > kRemembered) differences_.pop_front();
  return cut ? SkipReason::kCut : SkipReason::kNone;
}

SkipReason PictureEvents::Like(double difference) const {
  if (difference <= kMaxRepetition) return SkipReason::kRepeated;
  return IsCut(difference) ? SkipReason::kCut : SkipReason::kNone;
}

// There are no cuts until enough pairs are known.
bool PictureEvents::IsCut(double difference) const {
  if (differences_.size() < kMinRemembered || difference < kMinCut) return false;
  const std::vector<double> last(differences_.begin(), differences_.end());
  return difference > kCutToMedian * Median(last);
}

}  // namespace millrace::pipeline
