#include "service/stream/learner_life.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/error_reason.h"
#include "base/log_about.h"
#include "base/status.h"
#include "pipeline/learner/flow_learner_options.h"
#include "pipeline/learner/learner.h"
#include "spdlog/spdlog.h"

namespace millrace::service {

std::string RateAdvice(double learning_rate) {
  constexpr double kFarAbove = 10;
  const double usual = pipeline::FlowLearnerOptions().learning_rate;
  if (learning_rate < kFarAbove * usual) return "";
  return absl::StrFormat(
      "model.learning_rate is %g, %.0f times the default, and the likely cause: set %g",
      learning_rate, learning_rate / usual, usual);
}

absl::Status GivenUp(const std::string& stream, double learning_rate) {
  const std::string advice = RateAdvice(learning_rate);
  return Because("NOT_LEARNING", {{"stream", stream}, {"state", "given up"}},
                 absl::FailedPreconditionError(absl::StrCat(
                     "learning is given up: the weights went wrong too often in a row, each time "
                     "with half the learning rate; the learner predicts with the last that were "
                     "good; ",
                     advice.empty() ? "set a lower model.learning_rate" : advice,
                     ", or resume it to try once more")));
}

void LearnerLife::Begin() {
  const MutexLock telling(telling_);
  Say(LearnerState::kLearning, absl::OkStatus());
}

absl::Status LearnerLife::Change(LearnerState mode, const std::function<bool()>& change) {
  const MutexLock telling(telling_);
  MILLRACE_RETURN_IF_ERROR(Alive());
  if (change()) Say(mode, absl::OkStatus());
  return absl::OkStatus();
}

void LearnerLife::Note(LearnerState state, const absl::Status& cause) {
  const MutexLock telling(telling_);
  if (Alive().ok()) Say(state, cause);
}

void LearnerLife::Fail(const absl::Status& cause) {
  const absl::Status named(cause.code(), absl::StrCat("stream '", stream_, "': ", cause.message()));
  const MutexLock telling(telling_);
  {
    const MutexLock lock(mu_);
    if (!failure_.ok()) return;
    failure_ = named;
  }
  const LogAbout about(stream_);
  spdlog::error("{}; it predicts no more", std::string(named.message()));
  Say(LearnerState::kFailed, named);
}

void LearnerLife::End(Phase phase) {
  const MutexLock telling(telling_);
  if (status().ok()) Say(LearnerState::kEnded, absl::OkStatus());
  const MutexLock lock(mu_);
  phase_ = phase;
  ended_.notify_all();
}

void LearnerLife::AwaitEnd() {
  const MutexLock lock(mu_);
  while (phase_ == Phase::kRunning) ended_.wait(mu_);
}

LearnerLife::Phase LearnerLife::phase() const {
  const MutexLock lock(mu_);
  return phase_;
}

absl::Status LearnerLife::status() const {
  const MutexLock lock(mu_);
  return failure_;
}

LearnerState LearnerLife::StateIn(LearnerState mode) const {
  const MutexLock lock(mu_);
  if (!failure_.ok()) return LearnerState::kFailed;
  return phase_ == Phase::kRunning ? mode : LearnerState::kEnded;
}

absl::Status LearnerLife::Alive() const {
  const MutexLock lock(mu_);
  if (!failure_.ok()) {
    return Because("LEARNER_FAILED", {{"stream", stream_}},
                   absl::FailedPreconditionError(
                       absl::StrCat("nothing is learned any more: ", failure_.message())));
  }
  if (phase_ == Phase::kRunning) return absl::OkStatus();
  return Because("STREAM_ENDED", {{"stream", stream_}},
                 absl::FailedPreconditionError(
                     absl::StrCat("stream '", stream_, "' has ended and learns no more")));
}

void LearnerLife::Say(LearnerState state, const absl::Status& cause) {
  if (tell_) tell_(state, cause);
}

}  // namespace millrace::service
