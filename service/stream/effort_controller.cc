#include "service/stream/effort_controller.h"

#include <algorithm>

namespace millrace::service {
namespace {

constexpr std::int64_t kWindowFrames = 50;
constexpr double kDroppedShare = 0.02;
// A step back needs time to spare, or the controller would repeat it again and again.
constexpr double kRoom = 1.2;
constexpr int kQuietWindows = 3;
constexpr int kMaxUpdateEvery = 64;

int LessEffort(int update_every) {
  if (update_every == 0) return 0;
  return update_every < kMaxUpdateEvery ? 2 * update_every : 0;
}

int MoreEffort(int update_every) { return update_every == 0 ? kMaxUpdateEvery : update_every / 2; }

}  // namespace

EffortController::EffortController(const pipeline::LearnerDescription& learner)
    : learner_(learner), update_every_(learner.update_every) {}

int EffortController::OnFrame(std::int64_t number, double arrival_s, std::uint64_t dropped) {
  if (first_number_ >= 0 && number - first_number_ >= kWindowFrames) {
    const std::int64_t frames = number - first_number_;
    CloseWindow(frames, (arrival_s - first_arrival_s_) / static_cast<double>(frames),
                dropped - first_dropped_);
    first_number_ = -1;
  }
  if (first_number_ < 0) {
    first_number_ = number;
    first_arrival_s_ = arrival_s;
    first_dropped_ = dropped;
  }
  return update_every_;
}

void EffortController::CloseWindow(std::int64_t frames, double interval_s, std::uint64_t dropped) {
  if (static_cast<double>(dropped) > kDroppedShare * static_cast<double>(frames)) {
    update_every_ = LessEffort(update_every_);
    quiet_windows_ = 0;
    return;
  }
  const bool fits = update_every_ != 1 && kRoom * PeriodAt(MoreEffort(update_every_)) <= interval_s;
  quiet_windows_ = dropped == 0 && fits ? quiet_windows_ + 1 : 0;
  if (quiet_windows_ < kQuietWindows) return;
  update_every_ = MoreEffort(update_every_);
  quiet_windows_ = 0;
}

// Seconds between two samples, by the measured costs.
double EffortController::PeriodAt(int update_every) const {
  double slowest_ms = 0;
  for (const pipeline::StageDescription& stage : learner_.stages) {
    const double learning_ms = stage.backward_ms + stage.update_ms;
    slowest_ms = std::max(slowest_ms, stage.forward_ms + learning_ms / update_every);
  }
  return slowest_ms / 1000;
}

}  // namespace millrace::service
