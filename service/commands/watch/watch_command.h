// `millrace watch`: shows a running server's predictions, as a client of its public API.
#pragma once

#include <cstdint>
#include <string>

#include "service/commands/watch/watch_channel.h"
#include "service/terminal/cli_app.h"

namespace millrace::service {

struct WatchArguments {
  std::string address = "127.0.0.1:50051";
  /// Empty: all streams.
  std::string stream;
  /// Ends after this number of predictions per stream; 0: no limit.
  std::uint64_t count = 0;
  /// Prints JSON objects.
  bool json = false;
  /// The folder for saved pictures; empty: no pictures.
  std::string view;
  WatchSecurity security = {};
};

/// Adds the command to `app`. Parsing writes to `arguments`.
void AddWatch(CLI::App& app, WatchArguments& arguments);

/// Runs the command and returns the program's exit code.
[[nodiscard]] int RunWatch(const WatchArguments& arguments);

}  // namespace millrace::service
