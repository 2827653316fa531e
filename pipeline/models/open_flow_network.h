// The network that learns optical flow: one that Millrace knows by name, or a user's own.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "pipeline/models/flow_networks.h"
#include "pipeline/nn/opened_network.h"

namespace millrace::pipeline {

/// Opens `options.name`: MakeNamedFlowNetwork() for a name, and for a file (IsNetworkFile()) the
/// network that torch.jit saved there. Of the latter
///
///  * the top-level children, in order, are the layers (torchscript_chain.h), behind one of ours
///    that puts two pictures on top of each other;
///  * the first reads float32 [n, 6, height, width] in 0..1, a row for each pair: red, green, blue
///    of the picture that the flow starts from, then of the one that it leads to;
///  * the last makes the flow [n, 2, height, width] in pixels, (dx, dy), indexed at the picture
///    that it starts from;
///  * its weights are what it starts from, whatever the `seed`.
///
/// It is tried on one pair of that size. Fails with NOT_FOUND or INVALID_ARGUMENT, naming the file,
/// what is wrong, and what to do.
[[nodiscard]] absl::StatusOr<OpenedNetwork> OpenFlowNetwork(const NamedFlowNetworkOptions& options,
                                                            int width, int height);

}  // namespace millrace::pipeline
