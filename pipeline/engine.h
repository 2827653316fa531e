// Runs any plan, self-timed: one worker thread a device, each doing its device's order and nothing
// else.
//
// An operation starts when the one before it on its device and all that it depends on are done. So
// the values depend on the plan and the samples alone, never on timing: the engine equals a serial
// run of the same orders bit for bit, and a slow camera shortens the delay without changing a
// number.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "pipeline/admission_gate.h"
#include "pipeline/dependencies.h"
#include "pipeline/event_count.h"
#include "pipeline/plan.h"
#include "pipeline/shared_progress.h"
#include "pipeline/stage_cost.h"

namespace millrace::pipeline {

/// Does the work of one operation, on the thread of the operation's device. May throw: then the
/// engine stops.
using RunStep = std::function<void(const Step&)>;

/// A running pipeline. Admit() and Drain() are for one thread; the rest is thread-safe. Destroying
/// it before Drain() leaves what is in flight undone.
class Engine {
 public:
  struct Options {
    Plan plan;
    RunStep run;
    /// Called once on each worker's thread before its first operation. May be empty.
    std::function<void(int device)> on_worker_start = {};
    /// Of stages 1 to D, in seconds: then AwaitRoom() holds samples back that would only wait
    /// inside (admission_gate.h). Empty: no gate.
    std::vector<StageCost> gate_costs = {};
  };

  /// Checks the plan and starts the workers. Fails as CheckPlan() does.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<Engine>> Start(Options options);

  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Waits until the next sample would be admitted at once: the camera's channels have a free slot
  /// and the gate, if there is one, is open. A source that drops frames picks the next one then,
  /// and it is the freshest. Fails as Admit() does.
  absl::Status AwaitRoom() ABSL_LOCKS_EXCLUDED(mu_);

  /// Waits until the camera's channels have a free slot for the next sample, calls `write` with the
  /// sample's number to fill it, and returns that number. Fails with the cause once an operation
  /// has failed. REQUIRES: not drained.
  [[nodiscard]] absl::StatusOr<std::int64_t> Admit(absl::FunctionRef<void(std::int64_t)> write)
      ABSL_LOCKS_EXCLUDED(mu_);

  /// Runs every operation whose inputs exist and ends the workers. Returns the first failure of an
  /// operation, after which the rest is left undone. Idempotent.
  absl::Status Drain() ABSL_LOCKS_EXCLUDED(mu_);

  /// Samples that `stage` has done `kind` on so far.
  [[nodiscard]] std::int64_t done(OperationKind kind, int stage) const {
    return progress_.done(kind, stage);
  }

 private:
  enum class Verdict { kRun, kNever, kStop };
  /// An operation in one period, and what it waits for.
  struct Due {
    Step step;
    std::int64_t pattern = 0;
    std::span<const Need> needs;
  };

  explicit Engine(Options options);

  void Work(int device);
  bool RunPeriod(int device, std::int64_t period, Step& at_work);
  // Waits until an operation may run, can be known never to, or the engine stops.
  Verdict Await(const Due& due);
  void RunStepAt(const AdmissionGate::Place& at, const Step& step, bool waited);
  [[nodiscard]] bool Ready(const Due& due) const;
  std::int64_t AwaitSlot();
  void AwaitGate();
  void Complete(const Step& step);
  void Pass(const Step& step);
  void PassForEver(int device);
  [[nodiscard]] absl::Status failure() const ABSL_LOCKS_EXCLUDED(mu_);
  void Fail(absl::Status cause) ABSL_LOCKS_EXCLUDED(mu_);

  // Constant after construction.
  const Plan plan_;
  const Dependencies dependencies_;
  const RunStep run_;
  const std::function<void(int)> on_worker_start_;

  // Self-synchronized.
  const std::unique_ptr<AdmissionGate> gate_;  // Null: none.
  std::atomic<bool> held_ = false;             // Whether the gate holds or held the next sample.
  SharedProgress progress_;
  EventCount changed_;
  // Samples of the whole stream; unknown (-1) until Drain().
  std::atomic<std::int64_t> end_ = -1;
  std::atomic<bool> stopped_ = false;
  std::atomic<std::int64_t> ends_ = 0;  // Operations that have ended, where there is a gate.

  mutable Mutex mu_;
  // Why it stopped. OK while it has not.
  absl::Status failure_ ABSL_GUARDED_BY(mu_);

  std::vector<std::jthread> workers_;
};

}  // namespace millrace::pipeline
