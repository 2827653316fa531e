#include "service/stream/camera_rate.h"

#include <cmath>

namespace millrace::service {
namespace {

constexpr std::int64_t kFrames = 25;
constexpr double kSeconds = 2;
constexpr double kSameRate = 0.1;

bool Differ(double a, double b) { return std::abs(a - b) > kSameRate * b; }

}  // namespace

std::optional<double> CameraRate::OnFrame(const ingest::Frame& frame) {
  if (first_number_ < 0 || frame.epoch != epoch_ || frame.gaps != gaps_) {
    Begin(frame);
    return std::nullopt;
  }
  const std::int64_t frames = frame.number - first_number_;
  const double seconds = std::chrono::duration<double>(frame.arrival - first_arrival_).count();
  if (frames < kFrames || seconds < kSeconds) return std::nullopt;
  Begin(frame);
  return Close(static_cast<double>(frames) / seconds);
}

void CameraRate::Begin(const ingest::Frame& frame) {
  first_number_ = frame.number;
  epoch_ = frame.epoch;
  gaps_ = frame.gaps;
  first_arrival_ = frame.arrival;
}

std::optional<double> CameraRate::Close(double rate) {
  if (!Differ(rate, planned_)) {
    last_.reset();
    return std::nullopt;
  }
  const bool agree = last_.has_value() && !Differ(rate, *last_);
  last_ = rate;
  if (!agree) return std::nullopt;
  last_.reset();
  planned_ = rate;
  return rate;
}

}  // namespace millrace::service
