// The names of the networks that can learn optical flow, and their inputs. Free of LibTorch.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace millrace::pipeline {

/// refine: corrects a classical flow, which it computes first (refining_network.h).
///
/// flow: the coarse-to-fine network with matching built in (coarse_to_fine_network.h).
///
/// levels: like flow, but each level has its own features. So every level can be a stage that
///         learns from its own loss: schedule local.
///
/// The other networks are those of Marullo, Tiezzi and Betti, "Continual unsupervised learning for
/// optical flow estimation with deep networks", CoLLAs 2022. They read the colours of both pictures
/// as six channels, the current picture first, and must learn by themselves that matching helps:
///
/// ndconv: eight convolutions 5x5 at full resolution, 1.08 M parameters: layers of equal size that
///         balance well, 71 G multiply-adds at 256x256.
/// resunet: half of a ResNet-18 without normalization, and the upward path of a U-Net, 4.46 M
///         parameters.
/// flownets: FlowNetS without normalization (Dosovitskiy et al., ICCV 2015), 38.7 M parameters.
[[nodiscard]] const std::vector<std::string>& FlowNetworkNames();

/// The network where the user names none.
inline constexpr char kUsualFlowNetwork[] = "refine";

/// The weight of smoothness (FlowLossOptions) where the user says none, for the losses that are
/// relative to no motion. A network that begins with a good flow keeps more of it; one that begins
/// with none must first be free to move.
[[nodiscard]] double UsualSmoothness(std::string_view network);

/// The input that a network requires.
struct FlowNetworkInput {
  /// Channels of a picture: 1, grey, or 3, red, green, blue.
  int channels = 1;
  /// Both sides must be multiples of this.
  int size_multiple = 1;
  /// Whether it begins with a classical flow, which is its first layer.
  bool has_prior = false;
  /// The layers, counted from 0, after which a pyramid's next level outputs its flow. Stages with
  /// their own losses may begin there. Empty: a stage's output is no flow.
  std::vector<int> level_begins = {};
};

/// FlowNetworkInput::has_prior of this network; false for unknown names.
[[nodiscard]] bool HasPrior(std::string_view network);

/// Whether `name` is the file of a user's own network, *.pt (open_flow_network.h).
[[nodiscard]] bool IsNetworkFile(std::string_view name);

/// The input of a network name, or of any file. Fails with INVALID_ARGUMENT naming the known
/// networks.
[[nodiscard]] absl::StatusOr<FlowNetworkInput> FlowNetworkInputOf(std::string_view name);

}  // namespace millrace::pipeline
