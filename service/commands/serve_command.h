// `millrace serve`: learns from the configured cameras and serves the predictions.
#pragma once

#include <cstdint>
#include <string>

#include "service/terminal/cli_app.h"

namespace millrace::service {

/// The default configuration, in the working folder.
inline constexpr char kUsualConfig[] = "millrace.yaml";

struct ServeArguments {
  std::string config = kUsualConfig;
  /// Ends once every stream has this many predictions; 0: no limit.
  std::uint64_t frames = 0;
  /// The path of the JSON summary; empty: no summary file.
  std::string summary_json;
  bool no_progress = false;
  /// Shows the figures of the method, too.
  bool verbose = false;
};

/// Adds the command to `app`. Parsing writes to `arguments`.
void AddServe(CLI::App& app, ServeArguments& arguments);

/// Runs the command and returns the program's exit code.
[[nodiscard]] int RunServe(const ServeArguments& arguments);

}  // namespace millrace::service
