// The devices of a plan, as the engine sees them.
//
// Each device has a queue, like a CUDA stream: work is appended, and runs in that order. Work may
// also depend on other devices. For each stage and kind of operation, a counter holds the number of
// passed samples. It only rises, like a timeline semaphore. Work waits until counters have reached
// given values:
//
//   engine ──Enqueue──▶ device 0   F1(7)  B1(5)  U1(5)  F1(8) ...
//                       device 1   F2(6)  B2(6)  U2(6)  F2(7) ...
//                                    │ F2(7) needs that stage 1 has done 8 forwards
//
// Implementations are threads, CUDA streams, or a test that tries every order that these rules
// allow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "absl/status/status.h"
#include "pipeline/plan/dependencies.h"
#include "pipeline/plan/plan.h"

namespace millrace::pipeline {

/// One entry of a device's queue.
struct Work {
  enum class What {
    kRun,   ///< Run the step.
    kSkip,  ///< Skip the step: it will never run, because the stream ends first.
    kEnd,   ///< The end of the queue: skip all remaining steps of the device's operations.
  };
  What what = What::kRun;
  Step step = {};
  /// Its place in the device's order.
  std::size_t place = 0;
  /// Its dependencies, for the samples of `pattern`. Skipped samples count as well. Outlives the
  /// devices.
  std::span<const Dependency> dependencies = {};
  std::int64_t pattern = 0;
};

/// Running devices. done() is thread-safe; the rest is for one thread. The destructor discards work
/// that has not started.
class Devices {
 public:
  struct Options {
    const Plan& plan;  ///< Outlives the devices.
    /// Runs a step on its device. Returns false to stop all devices. A device calls it for one
    /// entry at a time.
    std::function<bool(std::size_t device, const Work& work)> run;
    /// Called around `run`, and for a kSkip in its place, once the dependencies are met. Work that
    /// depends on a kSkip may rely on them (Dependencies::Reduced()). Not called for a kEnd,
    /// because no later work depends on it. Return false to stop all devices. May be empty.
    std::function<bool(std::size_t device, const Work& work)> before = {};
    std::function<bool(std::size_t device, const Work& work)> after = {};
    /// Called before a device's first work, on the device's thread. Returns false to stop, as `run`
    /// does.
    std::function<bool(std::size_t device)> start;
    /// Called with the cause when a device itself has failed, before all devices stop.
    std::function<void(const absl::Status& cause)> on_failure = {};
  };

  virtual ~Devices() = default;

  /// Appends work to a device's queue; waits while the queue is full. The work runs after the
  /// entries before it, once its dependencies are met. REQUIRES: the work that a kRun depends on
  /// was enqueued before; the work that a kSkip depends on will be enqueued.
  virtual void Enqueue(std::size_t device, const Work& work) = 0;

  /// The camera has put a sample into its channels: `step` is the forward of stage 0.
  virtual void Admit(const Step& step) = 0;
  /// No further sample is admitted. Work that waits for one may be skipped.
  virtual void EndAdmission() = 0;

  /// Waits until `dependencies` are met for the samples of `pattern`. Returns false if the devices
  /// stopped.
  virtual bool Await(std::span<const Dependency> dependencies, std::int64_t pattern) = 0;

  /// Waits until each device has finished its kEnd, or the devices stopped.
  virtual void Join() = 0;

  /// The number of samples on which `stage` has done `kind` so far.
  [[nodiscard]] virtual std::int64_t done(OperationKind kind, int stage) const = 0;
};

using MakeDevices = std::function<std::unique_ptr<Devices>(Devices::Options)>;

/// One worker thread for each device of the plan.
[[nodiscard]] std::unique_ptr<Devices> MakeWorkerThreads(Devices::Options options);

}  // namespace millrace::pipeline
