// `millrace check-config`: says what is wrong with a configuration, or what it would run.
#pragma once

#include <string>

#include "service/config/config.h"

namespace millrace::service {

struct CheckConfigArguments {
  std::string config;
  /// Shows all that holds, every default too, as a configuration.
  bool print = false;
  /// Shows the schema of all configurations instead.
  bool schema = false;
};

/// Runs the command and returns the program's exit code.
[[nodiscard]] int RunCheckConfig(const CheckConfigArguments& arguments);

/// What the configuration would run, a few lines a stream.
[[nodiscard]] std::string DescribeConfig(const Config& config);

}  // namespace millrace::service
