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
      dependencies_(plan_),
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
    const std::int64_t pattern = step.first / plan_.samples_per_pattern;
    const std::span<const Need> needs =
        dependencies_.of_admission(static_cast<int>(step.first % plan_.samples_per_pattern));
    while (failure_.ok() && !progress_.Meets(needs, pattern)) changed_.wait(mu_);
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
    PassForEver(device);
  } catch (const std::exception& e) {
    Fail(absl::InternalError(
        absl::StrCat("the pipeline failed in ", ToString(step), ": ", e.what())));
  } catch (...) {
    Fail(absl::InternalError(absl::StrCat("the pipeline failed in ", ToString(step),
                                          " with something that is no std::exception")));
  }
}

// Returns whether the device may have anything to do in a later period.
bool Engine::RunPeriod(int device, std::int64_t period, Step& at_work) {
  const std::vector<Operation>& order = plan_.devices[device];
  bool more = false;
  for (std::size_t place = 0; place < order.size(); ++place) {
    at_work = StepOf(plan_, order[place], period);
    if (at_work.first < 0) {  // Still filling.
      more = true;
      continue;
    }
    switch (Await({at_work, period - order[place].shift, dependencies_.of(device, place)})) {
      case Verdict::kRun:
        run_(at_work);
        Complete(at_work);
        more = true;
        break;
      case Verdict::kNever:
        Pass(at_work);
        break;
      case Verdict::kStop:
        return false;
    }
  }
  return more;
}

Engine::Verdict Engine::Await(const Due& due) {
  MutexLock lock(mu_);
  for (;;) {
    if (!failure_.ok()) return Verdict::kStop;
    if (end_ >= 0 && !Exists(plan_, due.step, end_)) return Verdict::kNever;
    if (progress_.Meets(due.needs, due.pattern)) return Verdict::kRun;
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

// What comes after it in its stage's order may still be.
void Engine::Pass(const Step& step) {
  {
    MutexLock lock(mu_);
    progress_.Pass(step);
  }
  changed_.notify_all();
}

// The device is done: what waited for more of it need not wait.
void Engine::PassForEver(int device) {
  {
    MutexLock lock(mu_);
    for (const Operation& operation : plan_.devices[device]) progress_.PassForEver(operation);
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
