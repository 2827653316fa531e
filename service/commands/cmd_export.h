// `millrace export`: hands what a network has learned over to PyTorch.
#pragma once

#include <string>

#include "pipeline/offline/export_weights.h"

namespace millrace::service {

struct ExportArguments {
  pipeline::ExportOptions weights = {};
  /// A configuration file, which says the network and where its checkpoints are. Empty: `weights`
  /// does.
  std::string config = {};
  /// Of that file. Empty: it has only one.
  std::string stream = {};
};

/// Runs the command, printing what it wrote, and returns the program's exit code.
[[nodiscard]] int RunExport(ExportArguments arguments);

}  // namespace millrace::service
