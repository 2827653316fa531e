#include "pipeline/offline/export_weights.h"

#include <filesystem>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/atomic_file.h"
#include "base/status.h"
#include "pipeline/checkpoint/checkpoint_facts.h"
#include "pipeline/labels/label_networks.h"
#include "pipeline/models/open_flow_network.h"
#include "pipeline/nn/network_state.h"
#include "pipeline/nn/weights_file.h"
#include "pipeline/recovery/checkpoints.h"
#include "pipeline/tensor_files/tensor_file.h"

namespace millrace::pipeline {
namespace {

// A network from a file is tested on a picture of this size.
constexpr int kTriedWidth = 192;
constexpr int kTriedHeight = 144;

// Loads the newest checkpoint into the network. Returns the checkpoint's folder.
absl::StatusOr<std::string> LoadCheckpoint(const ExportOptions& options, const LayerChain& chain) {
  const std::string& folder = options.checkpoints;
  if (!std::filesystem::is_directory(folder)) {
    return absl::NotFoundError(absl::StrCat("there is no folder ", folder));
  }
  MILLRACE_ASSIGN_OR_RETURN(Checkpoints checkpoints, Checkpoints::Open({.folder = folder}, chain));
  MILLRACE_ASSIGN_OR_RETURN(const Checkpoints::Found found, checkpoints.Read());
  if (!found.newest) {
    return absl::NotFoundError(absl::StrCat(
        folder, " holds no checkpoint that is whole; name a stream's own folder, FOLDER/NAME"));
  }
  if (options.labels) {
    MILLRACE_RETURN_IF_ERROR(
        CheckTask(ReadFacts(found.newest->facts), found.folder, TaskInWords(*options.labels)));
  }
  RestoreValues(found.newest->network.layers, chain);
  return found.folder;
}

std::string NameOf(const ExportOptions& options) {
  if (!options.labels) return options.network;
  return options.labels->model.empty() ? options.labels->network : options.labels->model;
}

absl::StatusOr<NetworkWithState> Open(const ExportOptions& options) {
  if (options.labels) return OpenLabelNetwork(options.learner, *options.labels);
  return OpenFlowNetwork({.name = options.network}, kTriedWidth, kTriedHeight);
}

absl::StatusOr<std::string> Load(const ExportOptions& options, LayerChain& chain) {
  if (!options.checkpoints.empty()) return LoadCheckpoint(options, chain);
  if (options.weights.empty()) return NameOf(options);
  MILLRACE_RETURN_IF_ERROR(LoadWeights(options.weights, chain));
  return options.weights;
}

absl::Status Check(const ExportOptions& options) {
  if (!options.checkpoints.empty() && !options.weights.empty()) {
    return absl::InvalidArgumentError("give a folder of checkpoints or a weight file, not both");
  }
  if (!absl::EndsWith(options.output, ".pt") && !absl::EndsWith(options.output, ".safetensors")) {
    return absl::InvalidArgumentError(
        absl::StrCat(options.output,
                     ": end its name with .pt for PyTorch, or with .safetensors "
                     "for another learner"));
  }
  return CheckWritable(options.output);
}

}  // namespace

absl::StatusOr<ExportSummary> ExportWeights(const ExportOptions& options) {
  if (!options.labels) {
    MILLRACE_RETURN_IF_ERROR(FlowNetworkInputOf(options.network).status());
  }
  MILLRACE_RETURN_IF_ERROR(Check(options));
  MILLRACE_ASSIGN_OR_RETURN(NetworkWithState opened, Open(options));
  MILLRACE_ASSIGN_OR_RETURN(std::string source, Load(options, opened.chain));
  const bool for_pytorch = absl::EndsWith(options.output, ".pt");
  MILLRACE_RETURN_IF_ERROR(for_pytorch ? WriteTensors(options.output, opened.state)
                                       : SaveWeights(opened.chain, options.output));
  const NamedTensors written = for_pytorch ? std::move(opened.state) : ParametersOf(opened.chain);
  return ExportSummary{.source = std::move(source), .tensors = static_cast<int>(written.size())};
}

}  // namespace millrace::pipeline
