// `millrace replay`: runs a user's own network over recorded samples, under any schedule.
#pragma once

#include <string>

#include "pipeline/offline/replay.h"
#include "service/commands/plan/drawing_files.h"
#include "service/terminal/cli_app.h"

namespace millrace::service {

/// The command line's values; names are not checked yet.
struct ReplayArguments {
  pipeline::ReplayOptions options = {};
  std::string optimizer = "sgd";
  std::string recompute = "always";
  /// Where to wait for the other ranks: HOST:PORT. Empty: they are started on this machine.
  std::string listen;
  std::string secret_file;
  DrawingFiles drawings = {};
};

/// Adds the command to `app`. Parsing writes to `arguments`.
void AddReplay(CLI::App& app, ReplayArguments& arguments);

/// Runs the command, prints one line of results, and returns the program's exit code.
[[nodiscard]] int RunReplay(const ReplayArguments& arguments);

}  // namespace millrace::service
