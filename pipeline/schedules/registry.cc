#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "base/status.h"
#include "pipeline/schedules/schedules.h"

namespace millrace::pipeline {

#define MILLRACE_SCHEDULE(name, function, summary) \
  absl::StatusOr<Phases> function(const ScheduleRequest& request);
#include "pipeline/schedules/list.h"
#undef MILLRACE_SCHEDULE

namespace {

struct Schedule {
  std::string_view name;
  std::string_view summary;
  absl::StatusOr<Phases> (*make)(const ScheduleRequest&);
};

constexpr Schedule kSchedules[] = {
#define MILLRACE_SCHEDULE(name, function, summary) {#name, summary, function},
#include "pipeline/schedules/list.h"
#undef MILLRACE_SCHEDULE
};

const Schedule* Find(std::string_view name) {
  const auto* found = std::find_if(std::begin(kSchedules), std::end(kSchedules),
                                   [&](const Schedule& schedule) { return schedule.name == name; });
  return found == std::end(kSchedules) ? nullptr : found;
}

}  // namespace

absl::StatusOr<Recompute> RecomputeNamed(std::string_view name) {
  if (name == "always") return Recompute::kAlways;
  if (name == "except_last") return Recompute::kExceptLast;
  if (name == "never") return Recompute::kNever;
  return absl::InvalidArgumentError(absl::StrCat("recompute is \"", std::string(name),
                                                 "\"; it must be always, except_last or never"));
}

absl::StatusOr<Phases> MakePhases(std::string_view name, const ScheduleRequest& request) {
  MILLRACE_CHECK(request.shape.stages >= 1 &&
                 static_cast<int>(request.costs.size()) == request.shape.stages);
  if (const Schedule* schedule = Find(name)) return schedule->make(request);
  return absl::InvalidArgumentError(
      absl::StrCat("there is no schedule \"", std::string(name),
                   "\"; use one of: ", absl::StrJoin(ScheduleNames(), ", ")));
}

Phases PhasesFrom(Phases phases, std::int64_t first) {
  const auto later = std::find_if(phases.begin(), phases.end(), [first](const Phase& phase) {
    return phase.first_sample > first;
  });
  MILLRACE_CHECK(later != phases.begin());
  phases.erase(phases.begin(), later - 1);
  phases.front().first_sample = first;
  return phases;
}

absl::StatusOr<Plan> MakePlan(std::string_view name, const ScheduleRequest& request) {
  MILLRACE_ASSIGN_OR_RETURN(Phases phases, MakePhases(name, request));
  return std::move(phases.front().plan);
}

const std::vector<std::string>& ScheduleNames() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Schedule& schedule : kSchedules) all.emplace_back(schedule.name);
    return all;
  }();
  return names;
}

std::string_view ScheduleSummary(std::string_view name) {
  const Schedule* schedule = Find(name);
  MILLRACE_CHECK(schedule != nullptr);
  return schedule->summary;
}

double MinPeriod(const std::vector<StageCost>& costs) {
  double min = 0;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    const bool last = i + 1 == costs.size();
    min = std::max({min, costs[i].total(), last ? 0 : costs[i].copy});
  }
  return min;
}

}  // namespace millrace::pipeline
