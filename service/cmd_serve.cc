#include "service/cmd_serve.h"

#include <unistd.h>

#include <iostream>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/atomic_file.h"
#include "base/log_about.h"
#include "base/status.h"
#include "service/cli_exit_codes.h"
#include "service/cli_log.h"
#include "service/progress.h"
#include "service/real_stream.h"
#include "service/reference_comparison.h"
#include "service/serve.h"
#include "service/serve_signals.h"
#include "service/terminal.h"
#include "spdlog/spdlog.h"

namespace millrace::service {
namespace {

/// A run of hours must not end in a summary that cannot be written.
absl::Status CheckSummaryFile(const std::string& summary_json) {
  if (summary_json.empty()) return absl::OkStatus();
  const absl::Status writable = CheckWritable(summary_json);
  if (writable.ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--summary-json: ", std::string(writable.message())));
}

absl::StatusOr<std::unique_ptr<CameraStream>> StartRealStream(const StreamConfig& config,
                                                              StreamObservers observers) {
  CameraStream::Options options = RealStream(config);
  options.observe = std::move(observers.observe);
  options.on_source_state = std::move(observers.on_source_state);
  options.on_learner_state = std::move(observers.on_learner_state);
  options.on_overload = std::move(observers.on_overload);
  options.admit = std::move(observers.admit);
  if (config.scores.compare_with != "none") {
    MILLRACE_ASSIGN_OR_RETURN(
        options.compare,
        CompareWith(config.scores.compare_with, config.learner.width, config.learner.height));
  }
  const LogAbout about(config.name);
  spdlog::info("{}: measuring the layers and cutting the network", config.name);
  return CameraStream::Start(std::move(options));
}

absl::Status ServeConfig(const ServeArguments& arguments, StopSignals& signals) {
  MILLRACE_RETURN_IF_ERROR(CheckSummaryFile(arguments.summary_json));
  MILLRACE_ASSIGN_OR_RETURN(Config config, LoadConfig(arguments.config));
  // Before the layers are measured, which takes a while.
  MILLRACE_RETURN_IF_ERROR(GrpcServer::Check(config.listen.security));
  Serve serve({.config = std::move(config),
               .frames = arguments.frames,
               .summary_json = arguments.summary_json,
               .progress = !arguments.no_progress,
               .out = &std::cout,
               .terminal = isatty(STDOUT_FILENO) != 0,
               .columns = [] { return TerminalColumns(kProgressColumns); },
               .load = [path = arguments.config] { return LoadConfig(path); },
               .start_stream = StartRealStream});
  // A terminal that is closed says so in the same way as who has changed the configuration.
  const auto hang_up = [&serve, had_terminal = HasTerminal()] {
    had_terminal && !HasTerminal() ? serve.RequestStop() : serve.Reload();
  };
  signals.Watch([&serve] { serve.RequestStop(); }, hang_up);
  absl::Status status = serve.Run();
  signals.Forget();
  return status;
}

}  // namespace

int RunServe(const ServeArguments& arguments) {
  StopSignals signals(StopSignals::HangUp::kAsksToReload);
  const absl::Status status = ServeConfig(arguments, signals);
  if (!status.ok()) LogFailure(std::string(status.message()));
  return ExitCodeOf(status);
}

}  // namespace millrace::service
