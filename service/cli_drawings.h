// The options of all commands that draw.
#pragma once

#include "service/cli_app.h"
#include "service/drawing_files.h"

namespace millrace::service {

/// Adds --svg and --trace to `command`. `files` outlives it.
void AddDrawings(CLI::App& command, DrawingFiles& files);

}  // namespace millrace::service
