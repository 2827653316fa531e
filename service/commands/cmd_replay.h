// `millrace replay`: a user's own network over recorded samples, under any schedule.
#pragma once

#include <string>

#include "pipeline/offline/replay.h"
#include "service/commands/plan/drawing_files.h"

namespace millrace::service {

/// What the command line says; names are not checked yet.
struct ReplayArguments {
  pipeline::ReplayOptions options = {};
  std::string optimizer = "sgd";
  std::string recompute = "always";
  DrawingFiles drawings = {};
};

/// Runs the command, printing a line of what came out, and returns the program's exit code.
[[nodiscard]] int RunReplay(const ReplayArguments& arguments);

}  // namespace millrace::service
