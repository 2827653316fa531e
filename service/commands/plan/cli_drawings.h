// The drawing options, shared by several commands.
#pragma once

#include "service/commands/plan/drawing_files.h"
#include "service/terminal/cli_app.h"

namespace millrace::service {

/// Adds --svg and --trace to `command`. `files` must outlive it.
void AddDrawings(CLI::App& command, DrawingFiles& files);

}  // namespace millrace::service
