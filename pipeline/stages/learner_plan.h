// The plan that a learner runs, at any moment.
//
// It follows the planner when the stages' times or the camera's rate change, knows from which
// samples to learn, and describes the pipeline to observers.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "pipeline/learner/learner_description.h"
#include "pipeline/nn/layer.h"
#include "pipeline/plan/plan.h"
#include "pipeline/planner/replanner.h"
#include "pipeline/stages/describe_learner.h"
#include "pipeline/stages/network_run.h"
#include "pipeline/stages/planned_chain.h"

namespace millrace::pipeline {

/// Follow(), FollowRate(), FollowLinks(), ReportForwards() and Forget() are for the thread that
/// admits samples; the rest is thread-safe.
class LearnerPlan {
 public:
  struct Options {
    /// Outlives it.
    const LayerChain& chain;
    CutPipeline pipeline;
    /// nullopt: the plan never changes.
    std::optional<PlanForARate> for_a_rate = {};
    /// See LearnerOptions. 0: never plans again.
    double replan_share = 0;
    const Clock* clock = &MonotonicClock();
    /// Adds to each description what the pipeline does not know. Called with a lock held, so it
    /// must not call back. May be empty.
    std::function<void(LearnerDescription&)> complete = {};
    /// Called with the next plan before the run switches to it. May be empty.
    std::function<void(const Plan& next)> before_switch = {};
  };

  /// Fails as CheckPlan().
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<LearnerPlan>> Make(Options options);

  LearnerPlan(const LearnerPlan&) = delete;
  LearnerPlan& operator=(const LearnerPlan&) = delete;

  /// What an engine must tell it: empty if it never plans again, or follows_hosts().
  [[nodiscard]] std::vector<ObserveOperation> Observers();

  /// Switches `run` if the planner has found a better plan: drains the engine, and the next sample
  /// is the first one of the new plan. Fails as NetworkRun::Switch().
  [[nodiscard]] absl::Status Follow(NetworkRun& run) ABSL_LOCKS_EXCLUDED(mu_);
  /// Whether it plans again for the speeds of hosts and of the links between them, which the caller
  /// reports.
  [[nodiscard]] bool follows_hosts() const { return follows_hosts_; }
  /// See Replanner::Report() and FollowLinks(). REQUIRES: follows_hosts().
  void ReportForwards(const std::vector<double>& forward_ms) { replanner_->Report(forward_ms); }
  void FollowLinks(std::vector<double> ms_per_byte) {
    replanner_->FollowLinks(std::move(ms_per_byte));
  }

  /// Forgets the times of earlier operations. REQUIRES: no operation runs.
  void Forget();

  /// See Learner.
  void FollowRate(double frames_per_second);
  void LearnFromEvery(int n) ABSL_LOCKS_EXCLUDED(mu_);
  /// For the next sample; 0: does not learn.
  [[nodiscard]] int learn_from_every() const { return learn_from_every_; }
  [[nodiscard]] std::shared_ptr<const LearnerDescription> description() const
      ABSL_LOCKS_EXCLUDED(mu_);

 private:
  explicit LearnerPlan(Options options);

  absl::Status Begin() ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] absl::Status TakeOver(Replan replan) ABSL_LOCKS_EXCLUDED(mu_);
  absl::Status DescribeNow() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Constant after construction.
  const LayerChain& chain_;
  const std::function<void(LearnerDescription&)> complete_;
  const std::function<void(const Plan&)> before_switch_;

  std::unique_ptr<Replanner> replanner_;  // Null: never plans again.
  bool follows_hosts_ = false;
  std::optional<Replan> next_;  // Found, and not yet running.
  std::atomic<int> learn_from_every_ = 1;

  mutable Mutex mu_;
  CutPipeline pipeline_ ABSL_GUARDED_BY(mu_);
  std::optional<RatePlan> rate_plan_ ABSL_GUARDED_BY(mu_);
  // A description never changes after it is handed out; a newer one replaces it.
  std::shared_ptr<const LearnerDescription> description_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millrace::pipeline
