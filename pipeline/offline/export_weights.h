// Exports learned weights for PyTorch, or for another learner.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "pipeline/learner/flow_network_names.h"
#include "pipeline/learner/label_task_options.h"
#include "pipeline/learner/learner_options.h"

namespace millrace::pipeline {

struct ExportOptions {
  /// One of FlowNetworkNames(), or a file of a network (open_flow_network.h).
  std::string network = kUsualFlowNetwork;
  /// Replaces `network`: a network that learns from labels, under the options of its learner.
  std::optional<LabelTaskOptions> labels = {};
  LearnerOptions learner = {};
  /// A stream's folder of checkpoints that no server uses at the moment; takes the newest intact
  /// one. May be empty.
  std::string checkpoints = {};
  /// Used without `checkpoints`: a file of weights. Empty: the network's initial weights.
  std::string weights = {};
  /// Written completely or not at all. A .pt file is for torch.load(): a dict of the tensors by
  /// name, which is the state_dict() of a network from a file. A .safetensors file is for Millrace.
  std::string output;
};

struct ExportSummary {
  /// The source of the weights: a checkpoint's folder, or a file.
  std::string source;
  int tensors = 0;
};

/// Fails with INVALID_ARGUMENT, NOT_FOUND, FAILED_PRECONDITION or DATA_LOSS, saying what to do, or
/// with the system's error. On failure it writes nothing.
[[nodiscard]] absl::StatusOr<ExportSummary> ExportWeights(const ExportOptions& options);

}  // namespace millrace::pipeline
