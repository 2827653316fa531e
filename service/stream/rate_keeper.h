// Keeps a camera's rate: gives up learning where the learner is too slow, takes it up again where
// there is room, and says so; follows a learner that has planned again. While learning is given up,
// because the weights went wrong, no line says how much is learned.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "ingest/frame/frame.h"
#include "pipeline/learner/learner.h"
#include "service/stream/effort_controller.h"

namespace millrace::service {

/// For the learner's thread but for update_every(), which is thread-safe. The learner must outlive
/// it.
class RateKeeper {
 public:
  /// `stream`: for the log.
  RateKeeper(std::string stream, pipeline::Learner& learner);

  /// Takes the next frame into account, when `dropped` frames have been pushed out of the queue so
  /// far.
  void OnFrame(const ingest::Frame& frame, std::uint64_t dropped);

  /// From every which frame the learner learns; 0: it only predicts.
  [[nodiscard]] int update_every() const { return update_every_; }

 private:
  void FollowThePlan();
  void SayHowMuchIsLearned(int every);

  // Constant after construction.
  const std::string stream_;
  pipeline::Learner& learner_;

  std::shared_ptr<const pipeline::LearnerDescription> plan_;
  EffortController effort_;  // One a plan.
  std::atomic<int> update_every_;
  int said_every_;  // By the log, or by the banner that shows the plan.
};

}  // namespace millrace::service
