// A plan's report as a picture and as a trace.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "service/commands/plan/plan_report.h"

namespace millrace::service {

/// An SVG of the filling pipeline and a few patterns in steady state. A sample arrives every
/// period; the samples of one pattern arrive together. Also draws a second phase, after the first
/// has drained, if it begins early enough. REQUIRES: at least one phase.
[[nodiscard]] absl::StatusOr<std::string> PlanSvg(const std::vector<PlanReport>& phases);

/// The same run, longer, for Perfetto.
[[nodiscard]] absl::StatusOr<std::string> PlanTrace(const std::vector<PlanReport>& phases);

}  // namespace millrace::service
