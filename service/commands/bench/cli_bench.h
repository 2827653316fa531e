// The command line of `millrace bench`.
#pragma once

#include "service/commands/bench/cmd_bench.h"
#include "service/terminal/cli_app.h"

namespace millrace::service {

/// Adds the command to `app`. Parsing writes to `arguments`.
void AddBench(CLI::App& app, BenchArguments& arguments);

}  // namespace millrace::service
