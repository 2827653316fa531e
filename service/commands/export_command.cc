#include "service/commands/export_command.h"

#include <algorithm>
#include <iostream>
#include <utility>
#include <vector>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "service/config/config.h"
#include "service/terminal/cli_exit_codes.h"
#include "service/terminal/cli_network.h"

namespace millrace::service {
namespace {

constexpr char kFooter[] = R"(
NAME.pt is a dict of the tensors by name, for torch.load(). For a network of your own it is its
state_dict(). For the way back, set `model.weights` of a configuration to a dict that torch.save()
wrote, with the names that this command gives. Or save the network with its weights to its file.

Examples
  millrace export --config millrace.yaml --stream gate --output gate.pt
  millrace export --checkpoints checkpoints/gate --output gate.pt
  millrace export --network mine.pt --checkpoints checkpoints/gate --output gate.pt

In Python
  network.load_state_dict(torch.load("gate.pt")))";

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
  return absl::InvalidArgumentError(
      absl::StrCat("the stream '", stream.name,
                   "' writes no checkpoints; set checkpoints.folder in ", arguments.config));
}

absl::StatusOr<pipeline::ExportSummary> Export(ExportArguments& arguments) {
  MILLRACE_RETURN_IF_ERROR(Complete(arguments));
  return pipeline::ExportWeights(arguments.weights);
}

}  // namespace

void AddExport(CLI::App& app, ExportArguments& arguments) {
  CLI::App* weights = app.add_subcommand("export", "Export learned weights to PyTorch");
  pipeline::ExportOptions& options = arguments.weights;
  CLI::Option* config =
      weights->add_option("-c,--config", arguments.config,
                          "The configuration of a stream: its network, and its newest checkpoint");
  weights->add_option("--stream", arguments.stream, "The configuration's stream")->needs(config);
  weights->add_option("--network", options.network, NetworkHelp())
      ->check(NetworkCheck())
      ->excludes(config)
      ->capture_default_str();
  weights
      ->add_option("--checkpoints", options.checkpoints,
                   "A stream's folder of checkpoints; the newest is exported")
      ->excludes(config);
  weights->add_option("--weights", options.weights, "A weight file, in place of --checkpoints")
      ->excludes(config);
  weights->add_option("-o,--output", options.output, "NAME.pt, or NAME.safetensors")->required();
  weights->footer(kFooter);
}

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
