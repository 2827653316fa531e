#include "service/stream/learner_lifecycle.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/error_reason.h"
#include "base/log_about.h"
#include "base/status.h"
#include "pipeline/learner/learner.h"
#include "pipeline/learner/learner_options.h"
#include "spdlog/spdlog.h"

namespace millrace::service {

std::string RateAdvice(pipeline::OptimizerOptions::Kind optimizer, double learning_rate) {
  constexpr double kFarAbove = 10;
  const double usual = pipeline::LearnerOptions().optimizer.learning_rate;
  // Steps of sgd grow with the gradients, so no rate is usual.
  if (optimizer == pipeline::OptimizerOptions::Kind::kSgd) return "";
  if (learning_rate < kFarAbove * usual) return "";
  return absl::StrFormat(
      "model.learning_rate is %g, %.0f times the default, and the likely cause: set %g",
      learning_rate, learning_rate / usual, usual);
}

absl::Status GivenUp(const std::string& stream, pipeline::OptimizerOptions::Kind optimizer,
                     double learning_rate) {
  const std::string advice = RateAdvice(optimizer, learning_rate);
  return WithReason("NOT_LEARNING", {{"stream", stream}, {"state", "given up"}},
                    absl::FailedPreconditionError(absl::StrCat(
                        "learning is given up: the weights went wrong too often in a row, each "
                        "time with half the learning rate. The learner predicts with the last "
                        "good weights; ",
                        advice.empty() ? "set a lower model.learning_rate" : advice,
                        ", or resume it to try once more")));
}

void LearnerLifecycle::Begin() {
  const MutexLock notifying(notifying_);
  Notify(LearnerState::kLearning, absl::OkStatus());
}

absl::Status LearnerLifecycle::Change(LearnerState mode, const std::function<bool()>& change) {
  const MutexLock notifying(notifying_);
  MILLRACE_RETURN_IF_ERROR(Alive());
  if (change()) Notify(mode, absl::OkStatus());
  return absl::OkStatus();
}

void LearnerLifecycle::Note(LearnerState state, const absl::Status& cause) {
  const MutexLock notifying(notifying_);
  if (Alive().ok()) Notify(state, cause);
}

void LearnerLifecycle::Fail(const absl::Status& cause) {
  const absl::Status named(cause.code(), absl::StrCat("stream '", stream_, "': ", cause.message()));
  const MutexLock notifying(notifying_);
  {
    const MutexLock lock(mu_);
    if (!failure_.ok()) return;
    failure_ = named;
  }
  const LogAbout about(stream_);
  spdlog::error("{}; it predicts no more", std::string(named.message()));
  Notify(LearnerState::kFailed, named);
}

void LearnerLifecycle::End(Phase phase) {
  const MutexLock notifying(notifying_);
  if (status().ok()) Notify(LearnerState::kEnded, absl::OkStatus());
  const MutexLock lock(mu_);
  phase_ = phase;
  ended_.notify_all();
}

void LearnerLifecycle::AwaitEnd() {
  const MutexLock lock(mu_);
  while (phase_ == Phase::kRunning) ended_.wait(mu_);
}

LearnerLifecycle::Phase LearnerLifecycle::phase() const {
  const MutexLock lock(mu_);
  return phase_;
}

absl::Status LearnerLifecycle::status() const {
  const MutexLock lock(mu_);
  return failure_;
}

LearnerState LearnerLifecycle::StateIn(LearnerState mode) const {
  const MutexLock lock(mu_);
  if (!failure_.ok()) return LearnerState::kFailed;
  return phase_ == Phase::kRunning ? mode : LearnerState::kEnded;
}

absl::Status LearnerLifecycle::Alive() const {
  const MutexLock lock(mu_);
  if (!failure_.ok()) {
    return WithReason("LEARNER_FAILED", {{"stream", stream_}},
                      absl::FailedPreconditionError(
                          absl::StrCat("nothing is learned any more: ", failure_.message())));
  }
  if (phase_ == Phase::kRunning) return absl::OkStatus();
  return WithReason("STREAM_ENDED", {{"stream", stream_}},
                    absl::FailedPreconditionError(
                        absl::StrCat("stream '", stream_, "' has ended and learns no more")));
}

void LearnerLifecycle::Notify(LearnerState state, const absl::Status& cause) {
  if (on_state_) on_state_(state, cause);
}

}  // namespace millrace::service
