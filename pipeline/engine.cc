#include "pipeline/engine.h"

#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status.h"
#include "pipeline/plan_checker.h"

namespace millrace::pipeline {

absl::StatusOr<std::unique_ptr<Engine>> Engine::Start(Options options) {
  MILLRACE_RETURN_IF_ERROR(CheckPlan(options.plan).status());
  std::unique_ptr<Engine> engine(new Engine(std::move(options)));
  for (std::size_t device = 0; device < engine->plan_.devices.size(); ++device) {
    engine->workers_.emplace_back(
        [raw = engine.get(), device] { raw->Work(static_cast<int>(device)); });
  }
  return engine;
}

Engine::Engine(Options options)
    : plan_(std::move(options.plan)),
      run_(std::move(options.run)),
      on_worker_start_(std::move(options.on_worker_start)),
      progress_(plan_) {
  MILLRACE_CHECK(run_ != nullptr);
}

Engine::~Engine() {
  Fail(absl::CancelledError("the engine was destroyed"));
  workers_.clear();
}

absl::StatusOr<std::int64_t> Engine::Admit(absl::FunctionRef<void(std::int64_t)> write) {
  Step step{OperationKind::kForward, 0, 0, 0};
  {
    MutexLock lock(mu_);
    MILLRACE_CHECK(end_ < 0);
    step.first = step.last = progress_.done(OperationKind::kForward, 0);
    const std::vector<Need> needs = NeedsOf(plan_, step);
    while (failure_.ok() && !progress_.Meets(needs)) changed_.wait(mu_);
    if (!failure_.ok()) return failure_;
  }
  write(step.first);
  Complete(step);
  return step.first;
}

absl::Status Engine::Drain() {
  {
    MutexLock lock(mu_);
    if (end_ < 0) end_ = progress_.done(OperationKind::kForward, 0);
  }
  changed_.notify_all();
  workers_.clear();  // Joins.
  MutexLock lock(mu_);
  return failure_;
}

std::int64_t Engine::done(OperationKind kind, int stage) const {
  MutexLock lock(mu_);
  return progress_.done(kind, stage);
}

void Engine::Work(int device) {
  Step step;
  try {
    if (on_worker_start_) on_worker_start_(device);
    for (std::int64_t period = 0; RunPeriod(device, period, step); ++period) {
    }
  } catch (const std::exception& e) {
    Fail(absl::InternalError(
        absl::StrCat("the pipeline failed in ", ToString(step), ": ", e.what())));
  } catch (...) {
    Fail(absl::InternalError(absl::StrCat("the pipeline failed in ", ToString(step),
                                          " with something that is no std::exception")));
  }
}

// Returns whether the device may have anything to do in a later period. `step` is the one at work.
bool Engine::RunPeriod(int device, std::int64_t period, Step& step) {
  bool more = false;
  for (const Operation& operation : plan_.devices[device]) {
    step = StepOf(plan_, operation, period);
    if (step.first < 0) {  // Still filling.
      more = true;
      continue;
    }
    switch (Await(step)) {
      case Verdict::kRun:
        run_(step);
        Complete(step);
        more = true;
        break;
      case Verdict::kNever:
        break;
      case Verdict::kStop:
        return false;
    }
  }
  return more;
}

Engine::Verdict Engine::Await(const Step& step) {
  const std::vector<Need> needs = NeedsOf(plan_, step);
  MutexLock lock(mu_);
  for (;;) {
    if (!failure_.ok()) return Verdict::kStop;
    if (end_ >= 0 && !Exists(plan_, step, end_)) return Verdict::kNever;
    if (progress_.Meets(needs)) return Verdict::kRun;
    changed_.wait(mu_);
  }
}

void Engine::Complete(const Step& step) {
  {
    MutexLock lock(mu_);
    progress_.Complete(step);
  }
  changed_.notify_all();
}

void Engine::Fail(absl::Status cause) {
  {
    MutexLock lock(mu_);
    if (failure_.ok()) failure_ = std::move(cause);
  }
  changed_.notify_all();
}

}  // namespace millrace::pipeline
