// Plans again when stages cost something else than they were planned with.
//
//   workers ── Record() ─▶ CostWatch ── moved? ─▶ a thread of its own: PlanAgain()
//                                                        │
//   learner's thread ◀── Poll(): the plan to go on with ─┘
//
// Planning takes up to seconds, so it never holds a sample up: the running plan runs on until the
// next is there. Who runs the plans then switches between two samples.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "pipeline/planner/cost_watch.h"
#include "pipeline/planner/planner.h"

namespace millrace::pipeline {

/// What came of planning again.
struct Replan {
  /// Whether `pipeline` has other cuts or orders than what ran. It has its effort and what to
  /// expect either way.
  bool switches = false;
  PlannedPipeline pipeline;
  /// Of its stages as they were measured, learning from every sample. In milliseconds.
  std::vector<StageCost> costs;
  /// The operation that moved most: "a backward of stage 2 takes 92.1 ms instead of 60.3".
  std::string why;
};

/// `layers` as their stages were measured: each stage's forwards, backwards and updates are scaled
/// as a whole. REQUIRES: one cost a stage of `cuts`.
[[nodiscard]] std::vector<LayerCosts> Scaled(std::vector<LayerCosts> layers, const Cuts& cuts,
                                             const std::vector<StageCost>& measured);

/// Plans for the layers of `request`. Keeps `running`, with its new effort and expectations, unless
/// it does not hold any more or the new plan is less stale or its delay shorter by more than
/// `share`: a switch drains the pipeline, and near equals would take turns. Fails as PlanFor().
[[nodiscard]] absl::StatusOr<Replan> PlanAgain(const PlannerRequest& request,
                                               const PlannedPipeline& running, double share);

/// Watches the costs of the running plan and plans again.
///
/// Record() is as CostWatch's; the rest is for the one thread that switches plans. Destroying it
/// gives up planning.
class Replanner {
 public:
  struct Options {
    /// What the running plan was made for, in milliseconds; its function is called on another
    /// thread.
    PlannerRequest request;
    /// How far costs must move, as a share (CostWatch).
    double share = 0.25;
    /// From one plan to the next. Each switch back to the plan before doubles it, up to sixteen
    /// times as long: where two plans change what their own stages cost, they would take turns.
    nanoseconds least_pause = std::chrono::seconds(10);
    const Clock* clock = &MonotonicClock();
  };

  Replanner(Options options, PlannedPipeline running);

  Replanner(const Replanner&) = delete;
  Replanner& operator=(const Replanner&) = delete;

  /// See CostWatch::Record().
  void Record(const Step& step, nanoseconds took) { watch_.Record(step, took); }

  /// To be called for each sample. Returns the plan to go on with once there is one, and now and
  /// then looks whether another is needed: then it begins to plan. Never waits.
  [[nodiscard]] std::optional<Replan> Poll();

  /// Forgets the times of the stages that were. To be called between two plans. REQUIRES: nothing
  /// runs.
  void Switched() { watch_.Forget(); }

  /// Waits until the planning at hand, if there is any, is done: for tests.
  void AwaitPlanning() { done_.wait(false); }

 private:
  void Begin(std::vector<StageCost> measured);
  void PlanOnThread(const PlannerRequest& request, const PlannedPipeline& running);
  [[nodiscard]] std::optional<Replan> Take() ABSL_LOCKS_EXCLUDED(mu_);
  void GoOnWith(const Replan& replan);

  // Constant after construction.
  const double share_;
  const nanoseconds longest_pause_;
  const Clock& clock_;

  // Self-synchronized.
  CostWatch watch_;

  // Of the one thread.
  PlannerRequest request_;
  PlannedPipeline running_;
  std::optional<PlannedPipeline> before_;  // What ran before it.
  nanoseconds pause_;
  std::string why_;
  bool planning_ = false;
  int polls_ = 0;

  std::atomic<bool> done_ = true;  // Whether the planning thread has nothing more to do.
  Mutex mu_;
  std::optional<Replan> result_ ABSL_GUARDED_BY(mu_);  // Nothing: planning failed.

  std::jthread thread_;  // Plans once.
};

}  // namespace millrace::pipeline
