// `millrace bench`: schedules, stages and networks against LibTorch alone.
#pragma once

#include <string>

#include "pipeline/offline/bench.h"
#include "service/terminal/cli_app.h"

namespace millrace::service {

/// The command line's values; names are not checked yet.
struct BenchArguments {
  pipeline::BenchOptions options = {};
  /// "S" or "WxH".
  std::string size = "128";
  std::string optimizer = "sgd";
  std::string precision = "float32";
  /// The file to write; empty: no file.
  std::string json = {};
};

/// Adds the command to `app`. Parsing writes to `arguments`.
void AddBench(CLI::App& app, BenchArguments& arguments);

/// Runs the command, printing a table, and returns the program's exit code.
[[nodiscard]] int RunBench(const BenchArguments& arguments);

}  // namespace millrace::service
