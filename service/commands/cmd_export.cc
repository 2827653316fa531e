#include "service/commands/cmd_export.h"

#include <algorithm>
#include <iostream>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "service/config/config.h"
#include "service/terminal/cli_exit_codes.h"

namespace millrace::service {
namespace {

absl::StatusOr<StreamConfig> StreamNamed(const ExportArguments& arguments) {
  MILLRACE_ASSIGN_OR_RETURN(const Config config, LoadConfig(arguments.config));
  if (arguments.stream.empty() && config.streams.size() == 1) return config.streams.front();
  const auto found = std::ranges::find(config.streams, arguments.stream, &StreamConfig::name);
  if (found != config.streams.end()) return *found;
  std::vector<std::string> names;
  for (const StreamConfig& stream : config.streams) names.push_back(stream.name);
  return absl::InvalidArgumentError(
      absl::StrCat(arguments.config, " has ",
                   arguments.stream.empty() ? "several streams"
                                            : absl::StrCat("no stream '", arguments.stream, "'"),
                   "; give --stream one of: ", absl::StrJoin(names, ", ")));
}

/// Takes the network and the checkpoints' folder from the configuration.
absl::Status Complete(ExportArguments& arguments) {
  if (arguments.config.empty()) return absl::OkStatus();
  MILLRACE_ASSIGN_OR_RETURN(const StreamConfig stream, StreamNamed(arguments));
  pipeline::ExportOptions& weights = arguments.weights;
  if (IsOfLabels(stream.task)) {
    weights.labels = stream.labels;
    weights.learner = stream.learner;
    weights.learner.weights.clear();  // Replaced by the checkpoint's weights.
  } else {
    weights.network = stream.flow.network;
  }
  weights.checkpoints = stream.learner.checkpoints.folder;
  if (!weights.checkpoints.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the stream '", stream.name, "' keeps nothing of what it learns; set checkpoints.folder in ",
      arguments.config));
}

absl::StatusOr<pipeline::ExportSummary> Export(ExportArguments& arguments) {
  MILLRACE_RETURN_IF_ERROR(Complete(arguments));
  return pipeline::ExportWeights(arguments.weights);
}

}  // namespace

int RunExport(ExportArguments arguments) {
  const absl::StatusOr<pipeline::ExportSummary> done = Export(arguments);
  if (!done.ok()) {
    std::cerr << "millrace export: " << done.status().message() << "\n";
    return absl::IsInvalidArgument(done.status()) ? kExitUsage : kExitFailure;
  }
  std::cout << "wrote " << arguments.weights.output << ": " << done->tensors << " tensors of "
            << done->source << "\n";
  return kExitOk;
}

}  // namespace millrace::service
