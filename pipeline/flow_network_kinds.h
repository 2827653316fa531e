// The networks beside the usual one, each in a file of its own: what flow_networks.cc puts names
// to.
#pragma once

#include "pipeline/flow_networks.h"
#include "pipeline/layer.h"

namespace millrace::pipeline {

[[nodiscard]] LayerChain MakeFlowLevels(const NamedFlowNetworkOptions& options);
[[nodiscard]] LayerChain MakeNdConv(const NamedFlowNetworkOptions& options);
[[nodiscard]] LayerChain MakeResUnet(const NamedFlowNetworkOptions& options);
[[nodiscard]] LayerChain MakeFlowNetS(const NamedFlowNetworkOptions& options);

/// Both pictures [2, 3, height, width], previous then current, as one sample of six channels, the
/// current one's first; both ways also the other way round, as a second sample.
[[nodiscard]] at::Tensor PicturesAsChannels(const at::Tensor& pictures, bool both_ways);

/// Channels of that.
inline constexpr int kPairChannels = 6;

}  // namespace millrace::pipeline
