#include "service/cmd_replay.h"

#include <cmath>
#include <iostream>

#include "absl/strings/str_format.h"
#include "base/status.h"
#include "service/cli_exit_codes.h"

namespace millrace::service {
namespace {

absl::StatusOr<pipeline::ReplaySummary> Run(const ReplayArguments& arguments) {
  pipeline::ReplayOptions options = arguments.options;
  if (!std::isfinite(options.request.period)) {
    return absl::InvalidArgumentError("--period-ms must be a number of milliseconds");
  }
  MILLRACE_ASSIGN_OR_RETURN(options.optimizer.kind, pipeline::OptimizerKind(arguments.optimizer));
  MILLRACE_ASSIGN_OR_RETURN(options.request.recompute,
                            pipeline::RecomputeNamed(arguments.recompute));
  return pipeline::Replay(options);
}

}  // namespace

int RunReplay(const ReplayArguments& arguments) {
  const absl::StatusOr<pipeline::ReplaySummary> summary = Run(arguments);
  if (!summary.ok()) {
    std::cerr << "millrace replay: " << summary.status().message() << "\n";
    const bool asked_wrongly =
        absl::IsInvalidArgument(summary.status()) || absl::IsNotFound(summary.status());
    return asked_wrongly ? kExitUsage : kExitFailure;
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
