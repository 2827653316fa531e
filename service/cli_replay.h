// The command line of `millrace replay`.
#pragma once

#include "service/cli_app.h"
#include "service/cmd_replay.h"

namespace millrace::service {

/// Adds the command to `app`, which will write into `arguments`.
void AddReplay(CLI::App& app, ReplayArguments& arguments);

}  // namespace millrace::service
