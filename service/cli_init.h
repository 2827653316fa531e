// The command line of `millrace init`.
#pragma once

#include "service/cli_app.h"
#include "service/cmd_init.h"

namespace millrace::service {

/// Adds the command to `app`, which will write into `arguments`.
void AddInit(CLI::App& app, InitArguments& arguments);

}  // namespace millrace::service
