// The names of the networks that can learn optical flow, and what they read. Free of LibTorch.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace millrace::pipeline {

/// flow: the coarse-to-fine network with matching built in (flow_network.h).
///
/// levels: the same with features for each level of its own, so that every level can be a stage
/// that
///         learns from its own loss: schedule local.
///
/// The others are those of Marullo, Tiezzi and Betti, "Continual unsupervised learning for optical
/// flow estimation with deep networks", CoLLAs 2022. They read both pictures' colours as six
/// channels, the current one's first, and must find out themselves that matching is what helps:
///
/// ndconv: eight convolutions 5x5 at full resolution, 1.08 M parameters: layers of equal size that
///         balance well, 71 G multiply-adds at 256x256.
/// resunet: half of a ResNet-18 without normalization, and a U-Net's way back, 4.46 M parameters.
/// flownets: FlowNetS without normalization (Dosovitskiy et al., ICCV 2015), 38.7 M parameters.
[[nodiscard]] const std::vector<std::string>& FlowNetworkNames();

/// What a sample must be for a network.
struct FlowNetworkInput {
  /// Of a picture: 1, grey, or 3, red, green, blue.
  int channels = 1;
  /// Both sides must be multiples of it.
  int size_multiple = 1;
  /// The layers, counted from 0, after which the flow of a pyramid's next level is made: where
  /// stages with losses of their own may begin. Empty: a stage's output is no flow.
  std::vector<int> level_begins = {};
};

/// Whether that is no name but a file's: a user's own network (open_flow_network.h), *.pt.
[[nodiscard]] bool IsNetworkFile(std::string_view name);

/// Of a name, or of any file. Fails with INVALID_ARGUMENT naming the networks that there are.
[[nodiscard]] absl::StatusOr<FlowNetworkInput> FlowNetworkInputOf(std::string_view name);

}  // namespace millrace::pipeline
