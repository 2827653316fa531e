// Hybrid (Zhang and Abdelrahman, section 4.2): learns fast with stale weights first. Then it drains
// the pipeline and learns from one sample at a time, to win back the accuracy that staleness cost.
//
//   stale: samples 0 to n - 1   |   drained   |   sequential: samples n, n + 1 ...
#include <utility>

#include "base/status.h"
#include "pipeline/schedules/building_blocks.h"

namespace millrace::pipeline {

absl::StatusOr<Phases> Hybrid(const ScheduleRequest& request) {
  if (request.switch_at < 1) {
    return absl::InvalidArgumentError("schedule hybrid: switch_at must be at least 1");
  }
  MILLRACE_ASSIGN_OR_RETURN(Plan first, MakePlan("stale", request));
  MILLRACE_ASSIGN_OR_RETURN(Plan second, MakePlan("sequential", request));
  first.schedule = "hybrid: stale";
  second.schedule = "hybrid: sequential";
  return Phases{{std::move(first), 0}, {std::move(second), request.switch_at}};
}

}  // namespace millrace::pipeline
