// What whoever runs a server can do with a learner at work.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "pipeline/learner/learner.h"

namespace millrace::service {

/// What a stream's learner is doing.
enum class LearnerState {
  kLearning,  ///< It predicts and learns.
  kFrozen,    ///< It predicts, and learns nothing, because it was told so.
  kPaused,    ///< It does neither, because it was told so.
  kGivenUp,   ///< It predicts, and learns nothing: its weights went wrong too often in a row.
  kFailed,    ///< It does neither any more.
  kEnded,     ///< The stream has ended, and every frame is accounted for.
};

/// "learning", "frozen", "paused", "given up", "failed", "ended".
[[nodiscard]] std::string_view Name(LearnerState state);

/// What can be changed of a learner at work. Absent: it stays.
struct LearnerChange {
  std::optional<double> learning_rate = {};
  std::optional<pipeline::UpdatePolicyOptions> policy = {};
};

/// Remembers what a learner was told. Thread-safe.
class LearnerControls {
 public:
  /// `stream`: for the log. `policy`: as configured.
  LearnerControls(std::string stream, const pipeline::UpdatePolicyOptions& policy)
      : stream_(std::move(stream)), policy_(policy) {}

  /// kLearning, kFrozen or kPaused: the last two as it was told.
  [[nodiscard]] LearnerState mode() const { return mode_; }
  [[nodiscard]] pipeline::UpdatePolicyOptions policy() const ABSL_LOCKS_EXCLUDED(mu_);

  /// As CameraStream::SetMode(). Returns whether it was another mode before.
  bool SetMode(LearnerState mode, pipeline::Learner& learner);
  /// As CameraStream::Change().
  [[nodiscard]] absl::Status Change(const LearnerChange& change, pipeline::Learner& learner)
      ABSL_LOCKS_EXCLUDED(mu_);

 private:
  const std::string stream_;
  std::atomic<LearnerState> mode_ = LearnerState::kLearning;

  mutable Mutex mu_;  // Held while it is changed: one after the other.
  pipeline::UpdatePolicyOptions policy_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millrace::service
