// The command line of `millrace bench`.
#pragma once

#include "service/cmd_bench.h"

namespace CLI {
class App;
}  // namespace CLI

namespace millrace::service {

/// Adds the command to `app`, which will write into `arguments`.
void AddBench(CLI::App& app, BenchArguments& arguments);

}  // namespace millrace::service
