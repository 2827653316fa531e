#include "pipeline/stages/learner_plan.h"

#include <algorithm>
#include <utility>

#include "base/status.h"

namespace millrace::pipeline {
namespace {

RatePlan RatePlanOf(double frames_per_second, const PlannedPipeline& found) {
  return {.frames_per_second = frames_per_second,
          .holds = found.holds,
          .dropped_share = found.dropped_share,
          .limit = found.limit};
}

// Of two numbers for LearnFromEvery(), the one that learns less. If the plan stays, a replanning on
// paper must not undo a reduction that real drops have caused.
int Less(int a, int b) { return a == 0 || b == 0 ? 0 : std::max(a, b); }

}  // namespace

absl::StatusOr<std::unique_ptr<LearnerPlan>> LearnerPlan::Make(Options options) {
  std::unique_ptr<LearnerPlan> plan(new LearnerPlan(std::move(options)));
  MILLRACE_RETURN_IF_ERROR(plan->Begin());
  return plan;
}

LearnerPlan::LearnerPlan(Options options)
    : chain_(options.chain),
      complete_(std::move(options.complete)),
      before_switch_(std::move(options.before_switch)),
      pipeline_(std::move(options.pipeline)) {
  if (!options.for_a_rate) return;
  PlanForARate& planned = *options.for_a_rate;
  rate_plan_ = RatePlanOf(planned.frames_per_second, planned.found);
  learn_from_every_ = planned.found.effort.update_every;
  if (options.replan_share <= 0) return;
  follows_hosts_ = planned.request.uses_all;
  replanner_ = std::make_unique<Replanner>(Replanner::Options{.request = std::move(planned.request),
                                                              .share = options.replan_share,
                                                              .clock = options.clock},
                                           std::move(planned.found));
}

absl::Status LearnerPlan::Begin() {
  const MutexLock lock(mu_);
  return DescribeNow();
}

std::vector<ObserveOperation> LearnerPlan::Observers() {
  if (replanner_ == nullptr || follows_hosts_) return {};
  return {[this](const PastOperation& operation, bool worked) {
    if (worked) replanner_->Record(operation.step, operation.end - operation.start);
  }};
}

absl::Status LearnerPlan::Follow(NetworkRun& run) {
  // A switch fails if a host is lost meanwhile. It is made once the run has resumed.
  if (!next_ && replanner_ != nullptr) next_ = replanner_->Poll();
  if (!next_) return absl::OkStatus();
  const PlannedPipeline& found = next_->pipeline;
  const int planned = found.effort.update_every;
  learn_from_every_ = next_->switches ? planned : Less(planned, learn_from_every_);
  if (next_->switches) {
    if (before_switch_) before_switch_(found.plan);
    MILLRACE_RETURN_IF_ERROR(run.Switch(found.plan, found.cuts));
    replanner_->Switched();
  }
  Replan replan = *std::exchange(next_, std::nullopt);
  return TakeOver(std::move(replan));
}

absl::Status LearnerPlan::TakeOver(Replan replan) {
  const PlannedPipeline& found = replan.pipeline;
  const MutexLock lock(mu_);
  pipeline_ = {.cuts = found.cuts, .plan = found.plan, .costs = std::move(replan.costs)};
  const RatePlan before = rate_plan_.value_or(RatePlan());
  RatePlan next = RatePlanOf(replan.frames_per_second, found);
  next.switched = before.switched + (replan.switches ? 1 : 0);
  next.kept = before.kept + (replan.switches ? 0 : 1);
  next.why = std::move(replan.why);
  rate_plan_ = std::move(next);
  return DescribeNow();
}

void LearnerPlan::Forget() {
  if (replanner_ != nullptr) replanner_->Switched();
}

void LearnerPlan::FollowRate(double frames_per_second) {
  if (replanner_ != nullptr) replanner_->FollowRate(frames_per_second);
}

void LearnerPlan::LearnFromEvery(int n) {
  if (learn_from_every_.exchange(n) == n) return;
  const MutexLock lock(mu_);
  // Cannot fail: another effort's description has succeeded.
  DescribeNow().IgnoreError();
}

std::shared_ptr<const LearnerDescription> LearnerPlan::description() const {
  const MutexLock lock(mu_);
  return description_;
}

absl::Status LearnerPlan::DescribeNow() {
  MILLRACE_ASSIGN_OR_RETURN(LearnerDescription description,
                            Describe(chain_, pipeline_, {.update_every = learn_from_every_}));
  description.rate_plan = rate_plan_;
  if (complete_) complete_(description);
  description_ = std::make_shared<const LearnerDescription>(std::move(description));
  return absl::OkStatus();
}

}  // namespace millrace::pipeline
