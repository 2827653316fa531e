#include "service/commands/cmd_replay.h"

#include <chrono>
#include <cmath>
#include <iostream>

#include "absl/strings/str_format.h"
#include "base/status.h"
#include "pipeline/engine/run_history.h"
#include "pipeline/timeline/timeline_event.h"
#include "service/commands/plan/run_drawing.h"
#include "service/terminal/cli_exit_codes.h"

namespace millrace::service {
namespace {

// Limit per device: enough to see the pattern, in a file that browsers can still open.
constexpr std::int64_t kMaxRecorded = 20'000;

absl::Status Draw(const ReplayArguments& arguments, const pipeline::ReplaySummary& summary,
                  const pipeline::RunHistory& recorder) {
  const RecordedRun run{.schedule = arguments.options.schedule,
                        .phases = summary.phases,
                        .samples = summary.samples,
                        .events = pipeline::EventsOf(recorder.Since(std::chrono::nanoseconds(0))),
                        .left_out = recorder.left_out()};
  if (run.left_out > 0) {
    std::cerr << absl::StrFormat(
        "millrace replay: drew the first %d operations of each device; %d are left out\n",
        kMaxRecorded, run.left_out);
  }
  return WriteDrawings(
      arguments.drawings, [&] { return RunSvg(run); }, [&] { return RunTrace(run); });
}

absl::StatusOr<pipeline::ReplaySummary> Run(const ReplayArguments& arguments) {
  pipeline::ReplayOptions options = arguments.options;
  if (!std::isfinite(options.request.period)) {
    return absl::InvalidArgumentError("--period-ms must be a number of milliseconds");
  }
  MILLRACE_ASSIGN_OR_RETURN(options.optimizer.kind, pipeline::OptimizerKind(arguments.optimizer));
  MILLRACE_ASSIGN_OR_RETURN(options.request.recompute,
                            pipeline::RecomputeNamed(arguments.recompute));
  MILLRACE_RETURN_IF_ERROR(CheckDrawings(arguments.drawings, {"--out", options.output}));
  if (!arguments.drawings.any()) return pipeline::Replay(options);
  pipeline::RunHistory recorder({.operations = kMaxRecorded, .keeps_first = true});
  options.recorder = &recorder;
  MILLRACE_ASSIGN_OR_RETURN(pipeline::ReplaySummary summary, pipeline::Replay(options));
  MILLRACE_RETURN_IF_ERROR(Draw(arguments, summary, recorder));
  return summary;
}

}  // namespace

int RunReplay(const ReplayArguments& arguments) {
  const absl::StatusOr<pipeline::ReplaySummary> summary = Run(arguments);
  if (!summary.ok()) {
    std::cerr << "millrace replay: " << summary.status().message() << "\n";
    return ExitCodeOf(summary.status());
  }
  std::cout << absl::StrFormat(
      "%d samples, %s, %d stage%s, %d updates: mean loss of the first tenth %.6g, of the last "
      "%.6g; wrote %s\n",
      summary->samples, arguments.options.schedule, summary->stages,
      summary->stages == 1 ? "" : "s", summary->updates, summary->first_loss, summary->last_loss,
      arguments.options.output);
  return kExitOk;
}

}  // namespace millrace::service
