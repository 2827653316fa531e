#include "service/cmd_export.h"

#include <iostream>

#include "service/cli_exit_codes.h"

namespace millrace::service {

int RunExport(const pipeline::ExportOptions& options) {
  const absl::StatusOr<pipeline::ExportSummary> done = pipeline::ExportWeights(options);
  if (!done.ok()) {
    std::cerr << "millrace export: " << done.status().message() << "\n";
    return absl::IsInvalidArgument(done.status()) ? kExitUsage : kExitFailure;
  }
  std::cout << "wrote " << options.output << ": " << done->tensors << " tensors of " << done->source
            << "\n";
  return kExitOk;
}

}  // namespace millrace::service
