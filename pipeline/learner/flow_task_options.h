// Options of a task of optical flow. Free of LibTorch.
#pragma once

#include <string>

#include "pipeline/decisions/learning_decisions.h"
#include "pipeline/learner/flow_loss_options.h"
#include "pipeline/learner/flow_network_names.h"
#include "pipeline/learner/precision.h"

namespace millrace::pipeline {

/// The network of optical flow, and how it learns. LearnerOptions has all other options.
struct FlowTaskOptions {
  /// One of FlowNetworkNames() (flow_network_names.h), or the user's own network: a *.pt file saved
  /// by torch.jit (open_flow_network.h).
  std::string network = kUsualFlowNetwork;
  Precision precision = Precision::kFloat32;
  FlowLossOptions loss = {};
  /// Predicts the next picture, and learns from it, instead of the past motion (next_frame.h). A
  /// sample is then three pictures.
  bool next_frame = false;
  /// The rules for the samples to learn from, and for weights that have gone wrong.
  LearningOptions learning = {};
};

}  // namespace millrace::pipeline
