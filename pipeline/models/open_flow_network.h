// Opens the network that learns optical flow: a built-in one by name, or a user's own.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "pipeline/models/named_flow_network.h"
#include "pipeline/nn/network_with_state.h"

namespace millrace::pipeline {

/// Opens `options.name`: a built-in network (MakeNamedFlowNetwork()), or, if it is a file
/// (IsNetworkFile()), a network that torch.jit saved. For a file:
///
///  * the top-level children, in order, are the layers (torchscript_chain.h); a layer of
///    ours before them stacks two pictures;
///  * the first one reads float32 [n, 6, height, width] in 0..1, a row per pair: red, green,
///    blue of the picture that the flow starts from, then of the picture that it leads to;
///  * the last one makes the flow [n, 2, height, width] in pixels, (dx, dy), indexed at the picture
///    that it starts from;
///  * training starts from the file's weights; `seed` has no effect.
///
/// Tries the network on one pair of this size. Fails with NOT_FOUND or INVALID_ARGUMENT, with the
/// file, the error, and advice.
[[nodiscard]] absl::StatusOr<NetworkWithState> OpenFlowNetwork(
    const NamedFlowNetworkOptions& options, int width, int height);

/// The network of such a file from its `bytes`, without trying it. `options.name` is the file's
/// name in messages. Fails as DecodeTorchScriptChain().
[[nodiscard]] absl::StatusOr<LayerChain> DecodeFlowNetwork(std::string bytes,
                                                           const NamedFlowNetworkOptions& options);

}  // namespace millrace::pipeline
