// `millrace check-config`: reports a configuration's errors, or shows what it would run.
#pragma once

#include <string>

#include "service/config/config.h"
#include "service/terminal/cli_app.h"

namespace millrace::service {

struct CheckConfigArguments {
  std::string config;
  /// Prints the effective configuration with every default.
  bool print = false;
  /// Prints the schema of configurations instead.
  bool schema = false;
};

/// Adds the command to `app`. Parsing writes to `arguments`.
void AddCheckConfig(CLI::App& app, CheckConfigArguments& arguments);

/// Runs the command and returns the program's exit code.
[[nodiscard]] int RunCheckConfig(const CheckConfigArguments& arguments);

/// Describes what the configuration would run, in a few lines per stream.
[[nodiscard]] std::string DescribeConfig(const Config& config);

}  // namespace millrace::service
