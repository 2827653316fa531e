#include "pipeline/engine/phased_engine.h"

#include <utility>

#include "base/check.h"
#include "base/status.h"
#include "pipeline/plan/plan_checker.h"

namespace millrace::pipeline {

absl::StatusOr<std::unique_ptr<PhasedEngine>> PhasedEngine::Start(Options options) {
  MILLRACE_CHECK(!options.phases.empty());
  std::int64_t last = -1;
  for (const Phase& phase : options.phases) {
    MILLRACE_CHECK(phase.first_sample > last);
    last = phase.first_sample;
    MILLRACE_RETURN_IF_ERROR(CheckPlan(phase.plan).status());
  }
  std::unique_ptr<PhasedEngine> engine(new PhasedEngine(std::move(options)));
  MILLRACE_RETURN_IF_ERROR(engine->Begin(0));
  return engine;
}

// The previous engine releases its devices' resources, such as GPU streams, before the next needs
// them.
absl::Status PhasedEngine::Begin(std::size_t phase) {
  phase_ = phase;
  engine_.reset();
  std::vector<ObserveOperation> observers = observers_;
  observers.push_back(history_.Observer(phases_[phase].plan.devices.size()));
  MILLRACE_ASSIGN_OR_RETURN(engine_, Engine::Start({.plan = phases_[phase].plan,
                                                    .run = run_,
                                                    .on_worker_start = on_worker_start_,
                                                    .make_devices = make_devices_,
                                                    .observers = std::move(observers),
                                                    .first_sample = phases_[phase].first_sample,
                                                    .clock = &clock_}));
  return absl::OkStatus();
}

absl::Status PhasedEngine::CheckRuns() const {
  if (engine_ != nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError("nothing runs");
}

absl::Status PhasedEngine::Drain() {
  MILLRACE_RETURN_IF_ERROR(CheckRuns());
  return engine_->Drain();
}

void PhasedEngine::Suspend() {
  engine_.reset();
  if (NextPhaseBegins()) ++phase_;
  phases_[phase_].first_sample = next_sample_;
}

absl::Status PhasedEngine::Resume(absl::FunctionRef<absl::Status(const Phase&)> while_idle) {
  MILLRACE_CHECK(engine_ == nullptr);
  MILLRACE_RETURN_IF_ERROR(while_idle(phases_[phase_]));
  return Begin(phase_);
}

absl::Status PhasedEngine::SwitchIfDue() {
  MILLRACE_RETURN_IF_ERROR(CheckRuns());
  if (!NextPhaseBegins()) return absl::OkStatus();
  MILLRACE_RETURN_IF_ERROR(engine_->Drain());
  if (on_switch_) on_switch_(phases_[phase_ + 1]);
  return Begin(phase_ + 1);
}

absl::Status PhasedEngine::Switch(Plan plan,
                                  absl::FunctionRef<absl::Status(const Phase&)> while_idle) {
  MILLRACE_RETURN_IF_ERROR(CheckPlan(plan).status());
  MILLRACE_RETURN_IF_ERROR(Drain());
  const Phase next = {.plan = std::move(plan), .first_sample = next_sample_};
  MILLRACE_RETURN_IF_ERROR(while_idle(next));
  phases_ = {next};
  return Begin(0);
}

absl::Status PhasedEngine::Pause(absl::FunctionRef<void(const Phase&)> while_idle) {
  MILLRACE_RETURN_IF_ERROR(SwitchIfDue());
  MILLRACE_RETURN_IF_ERROR(engine_->Drain());
  phases_[phase_].first_sample = next_sample_;
  while_idle(phases_[phase_]);
  return Begin(phase_);
}

absl::Status PhasedEngine::AwaitRoom() {
  MILLRACE_RETURN_IF_ERROR(SwitchIfDue());
  return engine_->AwaitRoom();
}

absl::StatusOr<std::int64_t> PhasedEngine::Admit(absl::FunctionRef<void(std::int64_t)> write) {
  MILLRACE_RETURN_IF_ERROR(SwitchIfDue());
  MILLRACE_RETURN_IF_ERROR(engine_->Admit(write).status());
  return next_sample_++;
}

}  // namespace millrace::pipeline
