#include "pipeline/engine/admission_gate.h"

#include <utility>

#include "base/check.h"

namespace millrace::pipeline {
namespace {

using enum OperationKind;

constexpr double kNewest = 0.1;   // The weight of the newest time in a mean.
constexpr double kShrink = 0.99;  // Factor of the margin after a sample for which no stage waited.
constexpr double kGrowth = 0.1;   // Growth of the margin after a wait, as a share of the mean
                                  // forward.

}  // namespace

AdmissionGate::AdmissionGate(const Plan& plan, std::vector<StageCost> costs)
    : plan_(plan),
      dependencies_(plan_),
      state_{.progress = Progress(plan_), .devices = {}, .means = {}, .costs = std::move(costs)},
      latest_start_(plan_, dependencies_) {
  MILLRACE_CHECK(static_cast<int>(state_.costs.size()) == plan_.stage_count());
  for (std::size_t device = 0; device < plan_.devices.size(); ++device) {
    state_.devices.push_back({.at = PlanCursor(plan_, device)});
    std::vector<double>& means = state_.means.emplace_back();
    for (const Operation& operation : plan_.devices[device]) {
      means.push_back(CostOf(operation, state_.costs[operation.stage - 1]));
    }
  }
}

void AdmissionGate::OnStart(const PlanCursor& at, double now, bool waited) {
  MutexLock lock(mu_);
  state_.devices[at.device()] = {.at = at, .running_since = now};
  if (waited && held_ && at.operation().kind == kForward && at.operation().stage > 1) {
    margin_ += kGrowth * state_.means[at.device()][at.place()];
  }
}

void AdmissionGate::OnEnd(std::size_t device, const Step& step, double now) {
  MutexLock lock(mu_);
  auto& [at, running_since] = state_.devices[device];
  MILLRACE_CHECK(running_since.has_value());
  double& mean = state_.means[device][at.place()];
  mean += kNewest * (now - *running_since - mean);
  if (step.kind == kForward) state_.costs[step.stage - 1].forward = mean;
  state_.progress.Complete(step);
  running_since.reset();
  at.Next();
}

void AdmissionGate::OnAdmission(bool held) {
  MutexLock lock(mu_);
  held_ = held;
  margin_ *= kShrink;
  const std::int64_t sample = state_.progress.done(kForward, 0);
  state_.progress.Complete({kForward, 0, sample, sample});
}

double AdmissionGate::Opens(double now) {
  MutexLock lock(mu_);
  return latest_start_.From(state_, now) - margin_;
}

double AdmissionGate::margin() const {
  MutexLock lock(mu_);
  return margin_;
}

}  // namespace millrace::pipeline
