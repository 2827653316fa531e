#include "service/commands/plan/plan_drawing.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/plural.h"
#include "base/status.h"
#include "pipeline/timeline/chrome_trace.h"
#include "pipeline/timeline/timeline_svg.h"
#include "service/terminal/text_table.h"

namespace millrace::service {
namespace {

using pipeline::TimelineEvent;

// Patterns in steady state: of one sample each, or of several.
constexpr int kShortPatterns = 3;
constexpr int kLongPatterns = 2;
constexpr double kMicrosecondsPerMs = 1000;

struct Run {
  std::vector<TimelineEvent> events;
  std::vector<pipeline::CopyEvent> copies;
  double end = 0;  // The end of the part to draw.
};

absl::StatusOr<Run> RunOf(const PlanReport& report, int samples) {
  Run run;
  MILLRACE_ASSIGN_OR_RETURN(
      run.events, pipeline::SimulatedEvents(report.plan, report.costs, report.period_ms, samples));
  run.copies = pipeline::CopiesOf(report.plan, report.costs, run.events);
  const int patterns = report.plan.samples_per_pattern > 1 ? kLongPatterns : kShortPatterns;
  run.end = pipeline::EndOfDrawing(report.plan, run.events, report.period_ms, patterns);
  return run;
}

// Appends `then`, which starts at sample `first_sample`, after `run` has drained.
void Append(Run& run, Run then, std::int64_t first_sample) {
  const double begin = pipeline::LastEnd(run.events);
  const auto append = [&](auto& events, auto& later) {
    for (auto event : later) {
      event.span = {event.span.start + begin, event.span.end + begin};
      event.step.first += first_sample;
      event.step.last += first_sample;
      events.push_back(event);
    }
  };
  append(run.events, then.events);
  append(run.copies, then.copies);
  run.end = begin + then.end;
}

absl::StatusOr<Run> RunOf(const std::vector<PlanReport>& phases) {
  const PlanReport& first = phases.front();
  const int samples = pipeline::SamplesToDraw(first.plan);
  if (phases.size() == 1 || phases[1].first_sample > samples) return RunOf(first, samples);
  const PlanReport& second = phases[1];
  MILLRACE_ASSIGN_OR_RETURN(Run run, RunOf(first, static_cast<int>(second.first_sample)));
  MILLRACE_ASSIGN_OR_RETURN(Run then, RunOf(second, pipeline::SamplesToDraw(second.plan)));
  Append(run, std::move(then), second.first_sample);
  return run;
}

std::string SubtitleOf(const PlanReport& report) {
  const int k = report.plan.samples_per_pattern;
  std::string text =
      absl::StrCat(Plural(report.stages.size(), "stage"), ", period ", NumberText(report.period_ms),
                   " ms, delay ", NumberText(report.delay_ms), " ms");
  if (k > 1) absl::StrAppend(&text, "; drawn with ", k, " samples arriving together");
  return text;
}

// "stage 1, host 2".
std::vector<std::string> RowNamesOf(const PlanReport& report) {
  std::vector<std::string> names = pipeline::RowNames(report.plan);
  if (!report.hosts) return names;
  for (std::size_t device = 0; device < names.size(); ++device) {
    const int stage = report.plan.devices[device].front().stage;
    absl::StrAppend(&names[device], ", host ", report.hosts->host_of_stage[stage - 1]);
  }
  return names;
}

}  // namespace

absl::StatusOr<std::string> PlanSvg(const std::vector<PlanReport>& phases) {
  MILLRACE_ASSIGN_OR_RETURN(Run run, RunOf(phases));
  const PlanReport& report = phases.front();
  return pipeline::TimelineSvg({.title = report.schedule,
                                .subtitle = SubtitleOf(report),
                                .unit = "ms",
                                .row_names = RowNamesOf(report),
                                .events = std::move(run.events),
                                .copies = std::move(run.copies),
                                .end = run.end});
}

absl::StatusOr<std::string> PlanTrace(const std::vector<PlanReport>& phases) {
  MILLRACE_ASSIGN_OR_RETURN(Run run, RunOf(phases));
  return pipeline::ChromeTrace({{"plan", std::move(run.events), std::move(run.copies)}},
                               kMicrosecondsPerMs);
}

}  // namespace millrace::service
