// Runs any plan, self-timed, on devices that each run only their own order.
//
// On admission of a sample, the engine puts its operations into the devices' queues (devices.h). An
// operation starts when the one before it on its device and its dependencies are done. So the
// values depend only on the plan and the samples, never on timing. The engine equals a serial run
// of the same orders bit for bit, and a slow camera shortens the delay without changing a number.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "pipeline/engine/devices.h"
#include "pipeline/plan/dependencies.h"
#include "pipeline/plan/past_operation.h"
#include "pipeline/plan/plan.h"
#include "pipeline/plan/plan_cursor.h"

namespace millrace::pipeline {

/// Runs one operation, on the thread of the operation's device. Returns whether it did any work,
/// for observers. If it throws, the engine stops, with the code of a StepError (step_error.h), or
/// INTERNAL.
using RunStep = std::function<bool(const Step&)>;

/// A running pipeline. Admit() and Drain() are for one thread; the rest is thread-safe. Without a
/// Drain(), the destructor discards the operations in flight.
class Engine {
 public:
  struct Options {
    Plan plan;
    RunStep run;
    /// Called once on each device's thread before its first operation. May be empty.
    std::function<void(int device)> on_worker_start = {};
    MakeDevices make_devices = MakeWorkerThreads;
    /// Called in turn after each operation. Without observers, no operation is timed.
    std::vector<ObserveOperation> observers = {};
    /// The stream's number of the plan's sample 0, for the observers.
    std::int64_t first_sample = 0;
    /// Times the operations; outlives the engine.
    const Clock* clock = &MonotonicClock();
  };

  /// Checks the plan and starts the devices. Fails as CheckPlan() does.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<Engine>> Start(Options options);

  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Waits until the next sample would be admitted at once: the camera's channels have a free slot.
  /// A source that drops frames should pick the next frame then, because it is the newest. Fails as
  /// Admit() does.
  absl::Status AwaitRoom() ABSL_LOCKS_EXCLUDED(mu_);

  /// Waits until the camera's channels have a free slot for the next sample. Then calls `write`
  /// with the sample's number to fill it, and returns that number. `write` may throw, as an
  /// operation may. After a failure, returns its cause. REQUIRES: not drained.
  [[nodiscard]] absl::StatusOr<std::int64_t> Admit(absl::FunctionRef<void(std::int64_t)> write)
      ABSL_LOCKS_EXCLUDED(mu_);

  /// Runs every operation whose inputs exist, then ends the devices. Returns the first failure of
  /// an operation; the operations after it are discarded. Idempotent.
  absl::Status Drain() ABSL_LOCKS_EXCLUDED(mu_);

  /// The number of samples on which `stage` has done `kind` so far.
  [[nodiscard]] std::int64_t done(OperationKind kind, int stage) const {
    return devices_->done(kind, stage);
  }

 private:
  /// The position up to which a device's order has been enqueued.
  struct Cursor {
    PlanCursor at;
    /// Whether the period has any work; the first period without work is the last.
    bool more = false;
    bool ended = false;
  };

  explicit Engine(Options options);

  std::int64_t AwaitSlot();
  void EnqueueReady();
  bool EnqueueNext(Cursor& cursor);
  void Enqueue(std::size_t device, const Work& work);
  bool StartDevice(std::size_t device);
  bool RunWork(std::size_t device, const Work& work);
  [[nodiscard]] absl::Status failure() const ABSL_LOCKS_EXCLUDED(mu_);
  void Fail(absl::Status cause) ABSL_LOCKS_EXCLUDED(mu_);

  // Constant after construction.
  const Plan plan_;
  const Dependencies whole_;    // For the end of the stream: skipped work implies nothing.
  const Dependencies reduced_;  // Before it.
  const RunStep run_;
  const std::function<void(int)> on_worker_start_;
  const std::int64_t first_sample_;
  const Clock& clock_;
  const std::vector<ObserveOperation> observers_;

  // For the thread that admits.
  Progress enqueued_;
  std::vector<Cursor> cursors_;  // Of the devices that have operations.
  std::int64_t end_ = -1;        // The number of samples of the whole stream; -1 until Drain().

  // Self-synchronized.
  std::atomic<bool> stopped_ = false;

  mutable Mutex mu_;
  // The cause of the stop; OK while running.
  absl::Status failure_ ABSL_GUARDED_BY(mu_);

  std::unique_ptr<Devices> devices_;  // Last, because the devices call the members above.
};

}  // namespace millrace::pipeline
