// The devices that a plan runs on, as the engine sees them.
//
// Each device has a queue, like a CUDA stream: work is put at its end, and done in that order. Work
// may also need what other devices make. How far each stage is in its order of each kind of
// operation is a counter that only rises, like a timeline semaphore, and work waits until counters
// have risen far enough:
//
//   engine ──Enqueue──▶ device 0   F1(7)  B1(5)  U1(5)  F1(8) ...
//                       device 1   F2(6)  B2(6)  U2(6)  F2(7) ...
//                                    │ F2(7) needs that stage 1 has done 8 forwards
//
// What a device does when nothing holds it is its own affair: threads, CUDA streams, or a test that
// goes through every order that these rules allow.
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

/// What is put into a device's queue.
struct Work {
  enum class What {
    kRun,   ///< Do the step.
    kPass,  ///< Go past it: it will never be, because the stream ends first.
    kEnd,   ///< Nothing comes after it: go past all steps of the device's operations.
  };
  What what = What::kRun;
  Step step = {};
  /// Its place in the device's order, and the period.
  std::size_t place = 0;
  std::int64_t period = 0;
  /// What it waits for, in the samples of `pattern`: passed, not only done. Outlives the devices.
  std::span<const Need> needs = {};
  std::int64_t pattern = 0;
};

/// Devices at work. done() is thread-safe; the rest is for one thread. Destroying them leaves
/// undone what has not begun.
class Devices {
 public:
  struct Options {
    const Plan& plan;  ///< Outlives the devices.
    /// Does a step of work on its device; `waited`: what it needs came after its turn had. False:
    /// everything stops. Called for one piece of work of a device at a time.
    std::function<bool(std::size_t device, const Work& work, bool waited)> run;
    /// Called in place of `run` for a kPass, when what that needs is there: what needs the work
    /// that will never be counts on what it needs itself (essential_needs.h). Not for a kEnd, which
    /// is needed by nothing that is still to come. False: everything stops. May be empty.
    std::function<bool(std::size_t device, const Work& work)> pass = {};
    /// Called before a device's first work, where that will be done. False: as for `run`.
    std::function<bool(std::size_t device)> start;
    /// Told why, before everything stops because a device itself has failed.
    std::function<void(const absl::Status& cause)> on_failure = {};
  };

  virtual ~Devices() = default;

  /// Puts work at the end of a device's queue, waiting while that is full. It is done once all
  /// before it in the queue is and its needs are met. REQUIRES: what meets the needs of a kRun was
  /// enqueued before it; of a kPass, it will be.
  virtual void Enqueue(std::size_t device, const Work& work) = 0;

  /// The camera has put a sample into its channels: `step` is the forward of stage 0.
  virtual void Admit(const Step& step) = 0;
  /// No sample comes any more: what waits for one may go past.
  virtual void EndAdmission() = 0;

  /// Waits until `needs` are met for the samples of `pattern`. Returns whether they are: false once
  /// everything stops.
  virtual bool Await(std::span<const Need> needs, std::int64_t pattern) = 0;

  /// Waits until each device has come to its kEnd and has done all, or everything stops.
  virtual void Join() = 0;

  /// Samples that `stage` has done `kind` on so far.
  [[nodiscard]] virtual std::int64_t done(OperationKind kind, int stage) const = 0;
};

using MakeDevices = std::function<std::unique_ptr<Devices>(Devices::Options)>;

/// A worker thread for each device of the plan.
[[nodiscard]] std::unique_ptr<Devices> MakeWorkerThreads(Devices::Options options);

}  // namespace millrace::pipeline
