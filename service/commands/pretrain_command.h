// `millrace pretrain`: trains the initial weights for streams.
#pragma once

#include "pipeline/offline/pretrain.h"
#include "service/terminal/cli_app.h"

namespace millrace::service {

/// Adds the command to `app`. Parsing writes to `options`.
void AddPretrain(CLI::App& app, pipeline::PretrainOptions& options);

/// Runs the command, printing its progress, and returns the program's exit code.
[[nodiscard]] int RunPretrain(pipeline::PretrainOptions options);

}  // namespace millrace::service
