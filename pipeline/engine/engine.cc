#include "pipeline/engine/engine.h"

#include <exception>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/status.h"
#include "pipeline/engine/step_error.h"
#include "pipeline/engine/work_progress.h"
#include "pipeline/plan/plan_checker.h"

namespace millrace::pipeline {
namespace {

// The error of the exception that `step` threw. For a catch block.
absl::Status FailureIn(const Step& step) {
  try {
    throw;
  } catch (const std::exception& e) {
    const auto* const named = dynamic_cast<const StepError*>(&e);
    return {named != nullptr ? named->code() : absl::StatusCode::kInternal,
            absl::StrCat("the pipeline failed in ", ToString(step), ": ", e.what())};
  } catch (...) {
    return absl::InternalError(absl::StrCat("the pipeline failed in ", ToString(step),
                                            " with something that is no std::exception"));
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Engine>> Engine::Start(Options options) {
  MILLRACE_RETURN_IF_ERROR(CheckPlan(options.plan).status());
  const MakeDevices make_devices = std::move(options.make_devices);
  std::unique_ptr<Engine> engine(new Engine(std::move(options)));
  Engine* const raw = engine.get();
  engine->devices_ = make_devices(
      {.plan = raw->plan_,
       .run = std::bind_front(&Engine::RunWork, raw),
       .start = std::bind_front(&Engine::StartDevice, raw),
       .on_failure = [raw](const absl::Status& cause) {
         raw->Fail(absl::Status(
             cause.code(), absl::StrCat("a device of the pipeline failed: ", cause.message())));
       }});
  for (std::size_t device = 0; device < raw->plan_.devices.size(); ++device) {
    if (raw->plan_.devices[device].empty()) raw->Enqueue(device, {.what = Work::What::kEnd});
  }
  raw->EnqueueReady();
  return engine;
}

Engine::Engine(Options options)
    : plan_(std::move(options.plan)),
      whole_(plan_),
      reduced_(whole_.Reduced(plan_)),
      run_(std::move(options.run)),
      on_worker_start_(std::move(options.on_worker_start)),
      first_sample_(options.first_sample),
      clock_(*options.clock),
      observers_(std::move(options.observers)),
      enqueued_(plan_) {
  MILLRACE_CHECK(run_ != nullptr);
  for (const PlanCursor& at : CursorsOf(plan_)) cursors_.push_back({.at = at});
}

// Waits until the camera's channels have a free slot for the next sample, and returns its number.
std::int64_t Engine::AwaitSlot() {
  MILLRACE_CHECK(end_ < 0);
  const std::int64_t sample = enqueued_.done(OperationKind::kForward, 0);
  const std::int64_t pattern = sample / plan_.samples_per_pattern;
  devices_->Await(reduced_.of_admission(static_cast<int>(sample % plan_.samples_per_pattern)),
                  pattern);
  return sample;
}

absl::Status Engine::AwaitRoom() {
  AwaitSlot();
  return stopped_ ? failure() : absl::OkStatus();
}

absl::StatusOr<std::int64_t> Engine::Admit(absl::FunctionRef<void(std::int64_t)> write) {
  const std::int64_t sample = AwaitSlot();
  if (stopped_) return failure();
  const Step admitted{OperationKind::kForward, 0, sample, sample};
  try {
    write(sample);
  } catch (...) {
    Fail(FailureIn(admitted));
    return failure();
  }
  devices_->Admit(admitted);
  enqueued_.Complete(admitted);
  EnqueueReady();
  return sample;
}

absl::Status Engine::Drain() {
  if (end_ < 0) {
    end_ = enqueued_.done(OperationKind::kForward, 0);
    devices_->EndAdmission();
    EnqueueReady();
  }
  devices_->Join();
  return failure();
}

absl::Status Engine::failure() const {
  MutexLock lock(mu_);
  return failure_;
}

// Enqueues each operation once all its dependencies are enqueued.
void Engine::EnqueueReady() {
  for (bool moved = true; moved;) {
    moved = false;
    for (Cursor& cursor : cursors_) {
      while (EnqueueNext(cursor)) moved = true;
    }
  }
}

// Returns whether the device's order advanced.
bool Engine::EnqueueNext(Cursor& cursor) {
  if (cursor.ended) return false;
  PlanCursor& at = cursor.at;
  const Dependencies& dependencies = end_ < 0 ? reduced_ : whole_;
  Work work{.step = at.step(),
            .place = at.place(),
            .dependencies = dependencies.of(at.device(), at.place()),
            .pattern = at.pattern()};
  const bool exists = end_ < 0 || Exists(plan_, work.step, end_);
  if (!at.filling()) {
    if (!exists) work.what = Work::What::kSkip;
    if (exists && !enqueued_.Meets(work.dependencies, work.pattern)) return false;
    Enqueue(at.device(), work);
  }
  cursor.more = cursor.more || at.filling() || exists;
  if (!at.Next()) return true;
  cursor.ended = !std::exchange(cursor.more, false);
  if (cursor.ended) Enqueue(at.device(), {.what = Work::What::kEnd});
  return true;
}

void Engine::Enqueue(std::size_t device, const Work& work) {
  CompleteWork(work, plan_.devices[device], enqueued_);
  devices_->Enqueue(device, work);
}

bool Engine::StartDevice(std::size_t device) {
  try {
    if (on_worker_start_) on_worker_start_(static_cast<int>(device));
    return true;
  } catch (...) {
    Fail(FailureIn({}));
    return false;
  }
}

bool Engine::RunWork(std::size_t device, const Work& work) {
  try {
    if (observers_.empty()) {
      run_(work.step);
      return true;
    }
    PastOperation operation{.device = device, .step = work.step, .start = clock_.Now()};
    operation.step.first += first_sample_;
    operation.step.last += first_sample_;
    const bool worked = run_(work.step);
    operation.end = clock_.Now();
    for (const ObserveOperation& observe : observers_) observe(operation, worked);
    return true;
  } catch (...) {
    Fail(FailureIn(work.step));
    return false;
  }
}

void Engine::Fail(absl::Status cause) {
  {
    MutexLock lock(mu_);
    if (failure_.ok()) failure_ = std::move(cause);
  }
  stopped_ = true;
}

}  // namespace millrace::pipeline
