// Holds a sample back while it would only wait inside the pipeline.
//
// Where frames are always ready, a first stage that ran as soon as its device were free would take
// frames early and let them wait between the stages, where no fresher one can replace them. The
// gate lets the next sample in at L - m: L is the latest start with which no later stage would wait
// for it (latest_start.h), and m a margin that grows whenever a stage had to wait for a sample that
// was held, and shrinks slowly otherwise.
#pragma once

#include <cstdint>
#include <vector>

#include "base/mutex.h"
#include "pipeline/plan/dependencies.h"
#include "pipeline/plan/latest_start.h"
#include "pipeline/plan/plan.h"
#include "pipeline/plan/stage_cost.h"

namespace millrace::pipeline {

/// Thread-safe. Times are seconds on one clock.
class AdmissionGate {
 public:
  /// An operation of a device's order in one period.
  struct Place {
    std::size_t device = 0;
    std::size_t place = 0;
    std::int64_t period = 0;
  };

  /// `costs`: of stages 1 to D, in seconds, to begin with; it then follows what operations take.
  AdmissionGate(const Plan& plan, std::vector<StageCost> costs);

  /// The operation at a place in its device's order waits for nothing more. `waited`: its device
  /// was idle until then.
  void Started(const Place& at, double now, bool waited) ABSL_LOCKS_EXCLUDED(mu_);
  void Ended(std::size_t device, const Step& step, double now) ABSL_LOCKS_EXCLUDED(mu_);
  void Admitted(bool held) ABSL_LOCKS_EXCLUDED(mu_);

  /// When the next sample should be admitted; in the past: at once.
  [[nodiscard]] double Opens(double now) ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] double margin() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  // Constant after construction.
  const Plan plan_;
  const Dependencies dependencies_;

  mutable Mutex mu_;
  PipelineState state_ ABSL_GUARDED_BY(mu_);
  LatestStart latest_start_ ABSL_GUARDED_BY(mu_);
  double margin_ ABSL_GUARDED_BY(mu_) = 0;
  bool held_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace millrace::pipeline
