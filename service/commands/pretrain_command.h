// `millrace pretrain`: trains the initial weights for streams.
#pragma once

#include <optional>
#include <string>

#include "pipeline/offline/pretrain.h"
#include "service/terminal/cli_app.h"

namespace millrace::service {

struct PretrainArguments {
  pipeline::PretrainOptions options = {};
  /// A folder of pictures; empty: none.
  std::string photographs = {};
  /// Empty: as suits the network.
  std::optional<double> smoothness = {};
};

/// Adds the command to `app`. Parsing writes to `arguments`.
void AddPretrain(CLI::App& app, PretrainArguments& arguments);

/// Runs the command, printing its progress, and returns the program's exit code.
[[nodiscard]] int RunPretrain(PretrainArguments arguments);

}  // namespace millrace::service
