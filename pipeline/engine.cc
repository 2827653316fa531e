#include "pipeline/engine.h"

#include <chrono>
#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status.h"
#include "pipeline/plan_checker.h"

namespace millrace::pipeline {
namespace {

double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

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
      gate_(options.gate_costs.empty()
                ? nullptr
                : std::make_unique<AdmissionGate>(plan_, std::move(options.gate_costs))),
      progress_(plan_) {
  MILLRACE_CHECK(run_ != nullptr);
}

Engine::~Engine() {
  Fail(absl::CancelledError("the engine was destroyed"));
  workers_.clear();
}

// Waits until the camera's channels have a free slot for the next sample, and returns its number.
std::int64_t Engine::AwaitSlot() {
  MILLRACE_CHECK(end_ < 0);
  const std::int64_t sample = progress_.done(OperationKind::kForward, 0);
  const std::int64_t pattern = sample / plan_.samples_per_pattern;
  const std::span<const Need> needs =
      dependencies_.of_admission(static_cast<int>(sample % plan_.samples_per_pattern));
  changed_.Await([&] { return stopped_ || progress_.Meets(needs, pattern); });
  return sample;
}

absl::Status Engine::AwaitRoom() {
  AwaitSlot();
  if (gate_ != nullptr) AwaitGate();
  return stopped_ ? failure() : absl::OkStatus();
}

// What runs decides when the gate opens, so each end of an operation is a reason to look again.
void Engine::AwaitGate() {
  held_ = false;
  for (;;) {
    const std::int64_t ends = ends_;  // Before it is asked: what ends from here on is seen.
    const double now = Seconds();
    const double opens = gate_->Opens(now);
    if (opens <= now || stopped_) return;
    held_ = true;
    changed_.AwaitUntil([&] { return stopped_ || ends_ != ends; },
                        std::chrono::steady_clock::now() +
                            std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                std::chrono::duration<double>(opens - now)));
  }
}

absl::StatusOr<std::int64_t> Engine::Admit(absl::FunctionRef<void(std::int64_t)> write) {
  const std::int64_t sample = AwaitSlot();
  if (stopped_) return failure();
  write(sample);
  if (gate_ != nullptr) gate_->Admitted(held_);
  Complete({OperationKind::kForward, 0, sample, sample});
  return sample;
}

absl::Status Engine::Drain() {
  if (end_ < 0) end_ = progress_.done(OperationKind::kForward, 0);
  changed_.Notify();
  workers_.clear();  // Joins.
  return failure();
}

absl::Status Engine::failure() const {
  MutexLock lock(mu_);
  return failure_;
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
    const Due due{at_work, period - order[place].shift, dependencies_.of(device, place)};
    const bool waits = gate_ != nullptr && !Ready(due);
    switch (Await(due)) {
      case Verdict::kRun:
        RunStepAt({static_cast<std::size_t>(device), place, period}, at_work, waits);
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

void Engine::RunStepAt(const AdmissionGate::Place& at, const Step& step, bool waited) {
  if (gate_ != nullptr) gate_->Started(at, Seconds(), waited);
  run_(step);
  if (gate_ != nullptr) {
    gate_->Ended(at.device, step, Seconds());
    ++ends_;
  }
  Complete(step);
}

bool Engine::Ready(const Due& due) const { return progress_.Meets(due.needs, due.pattern); }

Engine::Verdict Engine::Await(const Due& due) {
  const auto never = [&] {
    const std::int64_t end = end_;
    return end >= 0 && !Exists(plan_, due.step, end);
  };
  changed_.Await([&] { return stopped_ || Ready(due) || never(); });
  if (stopped_) return Verdict::kStop;
  return never() ? Verdict::kNever : Verdict::kRun;
}

void Engine::Complete(const Step& step) {
  progress_.Complete(step);
  changed_.Notify();
}

// What comes after it in its stage's order may still be.
void Engine::Pass(const Step& step) {
  progress_.Pass(step);
  changed_.Notify();
}

// The device is done: what waited for more of it need not wait.
void Engine::PassForEver(int device) {
  for (const Operation& operation : plan_.devices[device]) progress_.PassForEver(operation);
  changed_.Notify();
}

void Engine::Fail(absl::Status cause) {
  {
    MutexLock lock(mu_);
    if (failure_.ok()) failure_ = std::move(cause);
  }
  stopped_ = true;
  changed_.Notify();
}

}  // namespace millrace::pipeline
