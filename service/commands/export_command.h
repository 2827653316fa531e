// `millrace export`: exports a network's learned weights to PyTorch.
#pragma once

#include <string>

#include "pipeline/offline/export_weights.h"
#include "service/terminal/cli_app.h"

namespace millrace::service {

struct ExportArguments {
  pipeline::ExportOptions weights = {};
  /// A configuration file that names the network and the checkpoints' folder. Empty: `weights`
  /// names them.
  std::string config = {};
  /// The stream in that file; empty: its only one.
  std::string stream = {};
};

/// Adds the command to `app`. Parsing writes to `arguments`.
void AddExport(CLI::App& app, ExportArguments& arguments);

/// Runs the command, prints the written file, and returns the program's exit code.
[[nodiscard]] int RunExport(ExportArguments arguments);

}  // namespace millrace::service
