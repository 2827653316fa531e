#include "service/commands/plan/run_drawing.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "pipeline/plan/steady_state.h"
#include "pipeline/timeline/chrome_trace.h"
#include "pipeline/timeline/planned_run.h"
#include "pipeline/timeline/timeline_svg.h"

namespace millrace::service {
namespace {

using pipeline::Plan;
using pipeline::TimelineEvent;

constexpr double kMicrosecondsPerMs = 1000;

absl::StatusOr<std::vector<TimelineEvent>> PlanOf(const RecordedRun& run) {
  return pipeline::PlannedEvents(run.phases, run.events, run.samples);
}

// The middle sample of the recorded first phase: the pipeline is full, and the slow first
// operations are over.
std::int64_t MiddleOf(const RecordedRun& run) {
  std::int64_t last = 0;
  for (const TimelineEvent& event : run.events) last = std::max(last, event.step.last);
  if (run.phases.size() > 1) last = std::min(last, run.phases[1].first_sample - 1);
  return last / 2;
}

// `events` from stage 1's forward of sample `middle` on, which becomes time 0.
std::vector<TimelineEvent> From(std::int64_t middle, const std::vector<TimelineEvent>& events) {
  double start = 0;
  for (const TimelineEvent& event : events) {
    const pipeline::Step& step = event.step;
    const bool forward = step.kind == pipeline::OperationKind::kForward && step.stage == 1;
    if (forward && step.first <= middle && middle <= step.last) start = event.span.start;
  }
  std::vector<TimelineEvent> from;
  for (TimelineEvent event : events) {
    if (event.span.end <= start) continue;
    event.span = {std::max(0.0, event.span.start - start), event.span.end - start};
    from.push_back(event);
  }
  return from;
}

// The length of a few patterns, or of the whole run if that is shorter.
double LengthOfPicture(const RecordedRun& run, const std::vector<TimelineEvent>& planned,
                       const std::vector<TimelineEvent>& ran) {
  const Plan& plan = run.phases.front().plan;
  const double period = pipeline::SteadyPeriod(plan, pipeline::CostsIn(run.events, plan));
  return std::min(period * pipeline::SamplesToDraw(plan),
                  std::max(pipeline::LastEnd(planned), pipeline::LastEnd(ran)));
}

std::string SubtitleOf(const RecordedRun& run) {
  return absl::StrCat(run.phases.front().plan.stage_count(),
                      " stages; from the middle of the run on, above as planned for its costs, "
                      "below as it ran");
}

}  // namespace

absl::StatusOr<std::string> RunSvg(const RecordedRun& run) {
  MILLRACE_ASSIGN_OR_RETURN(const std::vector<TimelineEvent> simulated, PlanOf(run));
  const std::int64_t middle = MiddleOf(run);
  const std::vector<TimelineEvent> planned = From(middle, simulated);
  const std::vector<TimelineEvent> ran = From(middle, run.events);
  const double end = LengthOfPicture(run, planned, ran);
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
      // A later phase may have more devices than the first, whose devices have rows.
      if (event.device < picture.row_names.size()) picture.events.push_back(event);
    }
  };
  add(planned, 0);
  add(ran, 1);
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
