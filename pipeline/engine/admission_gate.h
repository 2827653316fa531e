// Delays a sample while it would only wait inside the pipeline.
//
// If frames are always ready, an idle first stage would take them early. They would then wait
// between the stages, where no newer frame can replace them. The gate admits the next sample at L -
// m. L is the latest start at which no later stage would wait for it (latest_start.h). The margin m
// grows whenever a stage waited for a delayed sample, and otherwise shrinks slowly.
#pragma once

#include <cstdint>
#include <vector>

#include "base/mutex.h"
#include "pipeline/plan/dependencies.h"
#include "pipeline/plan/latest_start.h"
#include "pipeline/plan/plan.h"
#include "pipeline/plan/plan_cursor.h"
#include "pipeline/plan/stage_cost.h"

namespace millrace::pipeline {

/// Thread-safe. Times are seconds on one clock.
class AdmissionGate {
 public:
  /// `plan` outlives the gate. `costs`: initial costs of stages 1 to D, in seconds. The gate then
  /// follows the measured times.
  AdmissionGate(const Plan& plan, std::vector<StageCost> costs);

  /// The operation at `at`, of the same plan, has all its dependencies. `waited`: its device was
  /// idle until now.
  void OnStart(const PlanCursor& at, double now, bool waited) ABSL_LOCKS_EXCLUDED(mu_);
  void OnEnd(std::size_t device, const Step& step, double now) ABSL_LOCKS_EXCLUDED(mu_);
  void OnAdmission(bool held) ABSL_LOCKS_EXCLUDED(mu_);

  /// When to admit the next sample; a time in the past means at once.
  [[nodiscard]] double Opens(double now) ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] double margin() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  // Constant after construction.
  const Plan& plan_;
  const Dependencies dependencies_;

  mutable Mutex mu_;
  PipelineState state_ ABSL_GUARDED_BY(mu_);
  LatestStart latest_start_ ABSL_GUARDED_BY(mu_);
  double margin_ ABSL_GUARDED_BY(mu_) = 0;
  bool held_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace millrace::pipeline
