// Keeps a camera's rate. It reduces learning if the learner is too slow, increases it when there is
// time, and logs each change. It tells the learner when the camera's rate has changed, and follows
// the learner's new plan. While learning is given up, it logs
// no change.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "ingest/frame/frame.h"
#include "pipeline/learner/learner.h"
#include "service/stream/camera_rate.h"
#include "service/stream/effort_controller.h"

namespace millrace::service {

/// For the learner's thread; only update_every() is thread-safe. The learner must outlive it.
class RateKeeper {
 public:
  /// `stream` is for the log. `camera` follows the camera's rate; nullopt: the user has set a rate.
  RateKeeper(std::string stream, pipeline::Learner& learner, std::optional<CameraRate> camera);

  /// Who decides when a frame comes: the camera, or the learner, because the source waits for it.
  enum class Pace { kOfCamera, kOfLearner };

  /// Records the next frame; the queue has dropped `dropped` frames so far.
  void OnFrame(const ingest::Frame& frame, std::uint64_t dropped, Pace pace);

  /// The learner learns from one frame in `update_every`; 0: it only predicts.
  [[nodiscard]] int update_every() const { return update_every_; }

 private:
  void FollowThePlan();
  void LogEffort(int every);

  // Constant after construction.
  const std::string stream_;
  pipeline::Learner& learner_;

  std::shared_ptr<const pipeline::LearnerDescription> plan_;
  EffortController effort_;  // One for each plan.
  std::optional<CameraRate> camera_;
  std::atomic<int> update_every_;
  int logged_every_;  // The value last shown by the log, or by the banner with the plan.
};

}  // namespace millrace::service
