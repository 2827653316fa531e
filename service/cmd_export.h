// `millrace export`: hands what a network has learned over to PyTorch.
#pragma once

#include "pipeline/export_weights.h"

namespace millrace::service {

/// Runs the command, printing what it wrote, and returns the program's exit code.
[[nodiscard]] int RunExport(const pipeline::ExportOptions& options);

}  // namespace millrace::service
