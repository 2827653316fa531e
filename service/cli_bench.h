// The command line of `millrace bench`.
#pragma once

#include "service/cli_app.h"
#include "service/cmd_bench.h"

namespace millrace::service {

/// Adds the command to `app`, which will write into `arguments`.
void AddBench(CLI::App& app, BenchArguments& arguments);

}  // namespace millrace::service
