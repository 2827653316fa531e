// The networks beside the usual one, each in a file of its own: what flow_networks.cc puts names
// to.
#pragma once

#include "pipeline/models/flow_networks.h"
#include "pipeline/nn/layer.h"

namespace millrace::pipeline {

[[nodiscard]] LayerChain MakeFlowLevels(const NamedFlowNetworkOptions& options);
[[nodiscard]] LayerChain MakeNdConv(const NamedFlowNetworkOptions& options);
[[nodiscard]] LayerChain MakeResUnet(const NamedFlowNetworkOptions& options);
[[nodiscard]] LayerChain MakeFlowNetS(const NamedFlowNetworkOptions& options);

/// Each pair of the pictures [n, 3, height, width] as a sample of six channels, those of the
/// picture that the flow leads to first.
[[nodiscard]] at::Tensor PicturesAsChannels(const at::Tensor& pictures, PicturePairs pairs);

/// Channels of that.
inline constexpr int kPairChannels = 6;

}  // namespace millrace::pipeline
