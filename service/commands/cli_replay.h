// The command line of `millrace replay`.
#pragma once

#include "service/commands/cmd_replay.h"
#include "service/terminal/cli_app.h"

namespace millrace::service {

/// Adds the command to `app`. Parsing writes to `arguments`.
void AddReplay(CLI::App& app, ReplayArguments& arguments);

}  // namespace millrace::service
