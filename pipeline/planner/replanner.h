// Plans again when the stages' costs differ from the planned costs, or the camera's rate has
// changed.
//
//   workers ── Record() ─▶ CostWatch ── moved? ─▶ own thread: PlanAgain()
//                                                        │
//   learner's thread ◀── Poll(): the next plan to run ───┘
//
// Planning takes up to seconds, so it never blocks a sample: the running plan runs until the next
// one is ready. The learner then switches between two samples.
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

/// The result of planning again.
struct Replan {
  /// Whether `pipeline` has other cuts or orders than the running plan. It has the new effort and
  /// expectations in both cases.
  bool switches = false;
  PlannedPipeline pipeline;
  /// The measured costs of its stages, in milliseconds, learning from every sample.
  std::vector<StageCost> costs;
  /// The camera's rate that it is for.
  double frames_per_second = 0;
  /// The operation that moved most: "a backward of stage 2 takes 92.1 ms instead of 60.3". Or the
  /// new rate: "the camera sends 12.5 frames a second instead of 25".
  std::string why;
};

/// `layers`, scaled to the measured costs of their stages. All forwards of a stage get the same
/// factor, and so do its backwards and updates. REQUIRES: one cost for each stage of `cuts`.
[[nodiscard]] std::vector<LayerProfile> Scaled(std::vector<LayerProfile> layers, const Cuts& cuts,
                                               const std::vector<StageCost>& measured);

/// Plans for the layers of `request`. Switches to the new plan if `running` no longer holds, or if
/// the new plan is clearly better. Such a plan has less staleness, or a delay shorter by more than
/// `share`. Otherwise keeps `running`, with its new effort and expectations: a switch drains the
/// pipeline, and two nearly equal plans would alternate. Fails as PlanFor() does.
[[nodiscard]] absl::StatusOr<Replan> PlanAgain(const PlannerRequest& request,
                                               const PlannedPipeline& running, double share);

/// Watches the costs of the running plan and plans again.
///
/// Record() has the threading rule of CostWatch; the rest is for the thread that switches plans.
/// The destructor cancels planning.
class Replanner {
 public:
  /// The minimum time between two plans. Each switch back to the previous plan because of costs
  /// doubles it. Otherwise two plans would alternate if each changes the costs of its own stages.
  static constexpr nanoseconds kMinPause = std::chrono::seconds(10);
  static constexpr nanoseconds kMaxPause = 16 * kMinPause;

  struct Options {
    /// The request of the running plan, in milliseconds. Its function is called on another thread.
    PlannerRequest request;
    /// The movement of costs, as a share, that starts planning (CostWatch).
    double share = 0.25;
    const Clock* clock = &MonotonicClock();
  };

  Replanner(Options options, PlannedPipeline running);

  Replanner(const Replanner&) = delete;
  Replanner& operator=(const Replanner&) = delete;

  /// See CostWatch::Record().
  void Record(const Step& step, nanoseconds took) { watch_.Record(step, took); }

  /// The camera sends this many frames a second from now on. Poll() plans again for it, kMinPause
  /// after the last plan at the earliest.
  void FollowRate(double frames_per_second) { next_rate_ = frames_per_second; }

  /// In the place of Record(), if the stages are on several hosts: the milliseconds that a sample's
  /// forward takes in each stage. Backwards and updates are assumed to have moved as the forwards.
  void Report(const std::vector<double>& forward_ms);

  /// A byte to the next device takes so long from now on. Poll() plans again for it.
  void FollowLinks(std::vector<double> ms_per_byte) { next_links_ = std::move(ms_per_byte); }

  /// Call it for each sample. Returns the next plan to run once it is ready. At intervals, it
  /// checks whether a new plan is needed, and starts planning. Never waits.
  [[nodiscard]] std::optional<Replan> Poll();

  /// Forgets the times of the previous stages. Call it between two plans. REQUIRES: nothing runs.
  void Switched() { watch_.Forget(); }

  /// Waits until the current planning, if any, is done. For tests.
  void AwaitPlanning() { done_.wait(false); }

 private:
  void Begin(std::vector<StageCost> measured, std::string why);
  void BeginForRate(double rate);
  void BeginForLinks(std::vector<double> ms_per_byte);
  [[nodiscard]] std::vector<StageCost> Planned() const;
  void GiveUp();
  void PlanOnThread(const PlannerRequest& request, const PlannedPipeline& running);
  [[nodiscard]] std::optional<Replan> Take() ABSL_LOCKS_EXCLUDED(mu_);
  void GoOnWith(const Replan& replan);

  // Constant after construction.
  const double share_;
  const Clock& clock_;

  // Self-synchronized.
  CostWatch watch_;

  // For the one thread.
  PlannerRequest request_;
  PlannedPipeline running_;
  std::optional<PlannedPipeline> before_;  // The plan that ran before.
  nanoseconds pause_ = kMinPause;
  std::optional<double> next_rate_;  // Until a plan for it is found.
  std::optional<std::vector<double>> next_links_;
  std::optional<double> last_interval_;  // While planning for another rate: the one before.
  std::optional<std::vector<double>> last_links_;  // The same for other links.
  nanoseconds not_before_{0};
  std::string why_;
  bool planning_ = false;
  int polls_ = 0;

  std::atomic<bool> done_ = true;  // Whether the planning thread has finished.
  Mutex mu_;
  std::optional<Replan> result_ ABSL_GUARDED_BY(mu_);  // nullopt: planning failed.

  std::jthread thread_;  // Plans once.
};

}  // namespace millrace::pipeline
