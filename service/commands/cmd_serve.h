// `millrace serve`: learns from the configured cameras and serves what it predicts.
#pragma once

#include <cstdint>
#include <string>

namespace millrace::service {

/// The configuration that is taken where none is named: of the working folder.
inline constexpr char kUsualConfig[] = "millrace.yaml";

struct ServeArguments {
  std::string config = kUsualConfig;
  /// Ends once every stream has this many predictions; 0 goes on.
  std::uint64_t frames = 0;
  /// Where the summary goes as JSON; empty for nowhere.
  std::string summary_json;
  bool no_progress = false;
};

/// Runs the command and returns the program's exit code.
[[nodiscard]] int RunServe(const ServeArguments& arguments);

}  // namespace millrace::service
