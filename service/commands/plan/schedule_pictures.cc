#include "service/commands/plan/schedule_pictures.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "service/commands/plan/plan_drawing.h"
#include "service/commands/plan/plan_report.h"
#include "service/terminal/text_table.h"

namespace millrace::service {
namespace {

constexpr int kStages = 4;
constexpr int kSwitchAt = 6;

// Four equal stages; for interleaved, eight stages of half the size, two per device. A split
// backward is worth nothing at full load, so that schedule has a load of three quarters.
absl::StatusOr<std::vector<PlanReport>> Example(const std::string& schedule) {
  const int share = schedule == "interleaved" ? 2 : 1;
  pipeline::NetworkProfile network;
  network.layers.assign(
      std::size_t{kStages} * share,
      {.name = "layer",
       .cost = {.forward = 1.0 / share, .backward = 2.0 / share, .weight_gradient = 1.0 / share}});
  return MakePlanReports(network, {.schedule = schedule,
                                   .devices = kStages,
                                   .layers_of_stages = std::vector<int>(network.layers.size(), 1),
                                   .period_ms = schedule == "one_f_one_b_one_w" ? 4.0 : 0.0,
                                   .switch_at = kSwitchAt});
}

std::string Row(const std::string& schedule, const PlanReport& report) {
  const auto of_stages = [&](auto figure) {
    return absl::StrJoin(report.stages, " ", [&](std::string* out, const PlannedStage& stage) {
      absl::StrAppend(out, figure(stage));
    });
  };
  return absl::StrCat("| `", schedule, "` | ", NumberText(report.period_ms), " | ",
                      NumberText(report.delay_ms), " | ",
                      of_stages([](const auto& s) { return s.figures.slots; }), " | ",
                      of_stages([](const auto& s) { return s.figures.mismatch; }), " | ",
                      of_stages([](const auto& s) { return s.figures.staleness; }), " | ",
                      of_stages([](const auto& s) { return s.figures.weight_gap; }), " | ",
                      of_stages([](const auto& s) { return s.figures.gradient_age; }), " | ",
                      of_stages([](const auto& s) { return s.holds.versions; }), " |\n");
}

}  // namespace

absl::StatusOr<std::map<std::string, std::string>> SchedulePictures() {
  std::map<std::string, std::string> pictures;
  for (const std::string& schedule : pipeline::ScheduleNames()) {
    MILLRACE_ASSIGN_OR_RETURN(const std::vector<PlanReport> phases, Example(schedule));
    MILLRACE_ASSIGN_OR_RETURN(pictures[schedule], PlanSvg(phases));
  }
  return pictures;
}

absl::StatusOr<std::string> ScheduleFigures() {
  std::string table =
      "| schedule | period | delay | slots | mismatch | staleness | weight gap | gradient age | "
      "versions |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";
  for (const std::string& schedule : pipeline::ScheduleNames()) {
    MILLRACE_ASSIGN_OR_RETURN(const std::vector<PlanReport> phases, Example(schedule));
    table += Row(schedule, phases.front());
  }
  return table;
}

}  // namespace millrace::service
