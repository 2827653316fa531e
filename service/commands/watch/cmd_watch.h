// `millrace watch`: shows what a running server predicts, as any client sees it.
#pragma once

#include <cstdint>
#include <string>

#include "service/commands/watch/watch_channel.h"

namespace millrace::service {

struct WatchArguments {
  std::string address = "127.0.0.1:50051";
  /// Empty for all that there are.
  std::string stream;
  /// Ends after this many predictions of each stream; 0 goes on.
  std::uint64_t count = 0;
  /// Prints objects of JSON.
  bool json = false;
  /// The folder where pictures are saved; empty for none.
  std::string view;
  WatchSecurity security = {};
};

/// Runs the command and returns the program's exit code.
[[nodiscard]] int RunWatch(const WatchArguments& arguments);

}  // namespace millrace::service
