// Hands what a network has learned over to PyTorch, or to another learner.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "pipeline/learner/label_learner_options.h"

namespace millrace::pipeline {

struct ExportOptions {
  /// One of FlowNetworkNames(), or a file of a network (open_flow_network.h).
  std::string network = "flow";
  /// Instead of it: a network that learns from labels.
  std::optional<LabelLearnerOptions> labels = {};
  /// A stream's folder of checkpoints, which no server uses now: the newest that is whole. Or
  /// empty.
  std::string checkpoints = {};
  /// Else: a file of weights. Or empty: those that the network starts from.
  std::string weights = {};
  /// Written as a whole or not at all: .pt for torch.load(), a dict of the tensors by name, which
  /// is the state_dict() of a network from a file; .safetensors for Millrace.
  std::string output;
};

struct ExportSummary {
  /// Where the weights were found: a checkpoint's folder, or a file.
  std::string source;
  int tensors = 0;
};

/// Fails with INVALID_ARGUMENT, NOT_FOUND, FAILED_PRECONDITION or DATA_LOSS, saying what to do, and
/// as the system says; then nothing is written.
[[nodiscard]] absl::StatusOr<ExportSummary> ExportWeights(const ExportOptions& options);

}  // namespace millrace::pipeline
