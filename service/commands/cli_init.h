// The command line of `millrace init`.
#pragma once

#include "service/commands/cmd_init.h"
#include "service/terminal/cli_app.h"

namespace millrace::service {

/// Adds the command to `app`. Parsing writes to `arguments`.
void AddInit(CLI::App& app, InitArguments& arguments);

}  // namespace millrace::service
