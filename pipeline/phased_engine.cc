#include "pipeline/phased_engine.h"

#include <utility>

#include "base/check.h"
#include "base/status.h"
#include "pipeline/plan_checker.h"

namespace millrace::pipeline {

absl::StatusOr<std::unique_ptr<PhasedEngine>> PhasedEngine::Start(Options options) {
  MILLRACE_CHECK(!options.phases.empty() && options.phases.front().first_sample == 0);
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

absl::Status PhasedEngine::Begin(std::size_t phase) {
  phase_ = phase;
  MILLRACE_ASSIGN_OR_RETURN(engine_, Engine::Start({.plan = options_.phases[phase].plan,
                                                    .run = options_.run,
                                                    .on_worker_start = options_.on_worker_start,
                                                    .gate_costs = options_.gate_costs}));
  return absl::OkStatus();
}

absl::Status PhasedEngine::SwitchIfDue() {
  if (!NextPhaseBegins()) return absl::OkStatus();
  MILLRACE_RETURN_IF_ERROR(engine_->Drain());
  if (options_.on_switch) options_.on_switch(options_.phases[phase_ + 1]);
  return Begin(phase_ + 1);
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
