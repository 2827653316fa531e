#include "service/run_drawing.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "pipeline/chrome_trace.h"
#include "pipeline/planned_run.h"
#include "pipeline/timeline_svg.h"

namespace millrace::service {
namespace {

using pipeline::Plan;
using pipeline::TimelineEvent;

constexpr double kMicrosecondsPerMs = 1000;
constexpr int kPatternsToDraw = 3;  // After every stage has updated.

absl::StatusOr<std::vector<TimelineEvent>> PlanOf(const RecordedRun& run) {
  return pipeline::PlannedEvents(run.phases, run.events, run.samples);
}

// Where the first phase has filled on paper and in the run, and a bit more.
absl::StatusOr<double> EndOfPicture(const RecordedRun& run,
                                    const std::vector<TimelineEvent>& planned) {
  const Plan& plan = run.phases.front().plan;
  MILLRACE_ASSIGN_OR_RETURN(const double period,
                            pipeline::SteadyPeriod(plan, pipeline::CostsIn(run.events, plan)));
  const double wanted = std::max(pipeline::EndOfDrawing(plan, planned, period, kPatternsToDraw),
                                 pipeline::EndOfDrawing(plan, run.events, period, kPatternsToDraw));
  return std::min(wanted, std::max(pipeline::LastEnd(planned), pipeline::LastEnd(run.events)));
}

std::string SubtitleOf(const RecordedRun& run) {
  return absl::StrCat(run.phases.front().plan.stage_count(),
                      " stages; how it began, above as planned for the costs of this run, below as "
                      "it ran");
}

}  // namespace

absl::StatusOr<std::string> RunSvg(const RecordedRun& run) {
  MILLRACE_ASSIGN_OR_RETURN(const std::vector<TimelineEvent> planned, PlanOf(run));
  MILLRACE_ASSIGN_OR_RETURN(const double end, EndOfPicture(run, planned));
  pipeline::TimelinePicture picture;
  picture.title = run.schedule;
  picture.subtitle = SubtitleOf(run);
  picture.unit = "ms";
  picture.end = end;
  for (const std::string& name : pipeline::RowNames(run.phases.front().plan)) {
    picture.row_names.push_back(absl::StrCat(name, ", plan"));
    picture.row_names.push_back(absl::StrCat(name, ", run"));
  }
  const auto add = [&picture](std::vector<TimelineEvent> events, std::size_t row) {
    for (TimelineEvent& event : events) {
      event.device = 2 * event.device + row;
      // A later phase may have more devices than the one that the rows are for.
      if (event.device < picture.row_names.size()) picture.events.push_back(event);
    }
  };
  add(planned, 0);
  add(run.events, 1);
  return pipeline::TimelineSvg(picture);
}

absl::StatusOr<std::string> RunTrace(const RecordedRun& run) {
  MILLRACE_ASSIGN_OR_RETURN(std::vector<TimelineEvent> planned, PlanOf(run));
  const std::string left_out =
      run.left_out == 0 ? ""
                        : absl::StrCat(" (the first operations; ", run.left_out, " are left out)");
  return pipeline::ChromeTrace({{absl::StrCat("plan", left_out), std::move(planned)},
                                {absl::StrCat("run", left_out), run.events}},
                               kMicrosecondsPerMs);
}

}  // namespace millrace::service
