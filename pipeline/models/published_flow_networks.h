// The networks other than the default one, each in its own file. named_flow_network.cc names them.
#pragma once

#include "pipeline/models/named_flow_network.h"
#include "pipeline/nn/layer.h"

namespace millrace::pipeline {

[[nodiscard]] LayerChain MakeFlowLevels(const NamedFlowNetworkOptions& options);
[[nodiscard]] LayerChain MakeNdConv(const NamedFlowNetworkOptions& options);
[[nodiscard]] LayerChain MakeResUnet(const NamedFlowNetworkOptions& options);
[[nodiscard]] LayerChain MakeFlowNetS(const NamedFlowNetworkOptions& options);

/// Each pair of the pictures [n, 3, height, width] as a sample of six channels; the picture that
/// the flow leads to comes first.
[[nodiscard]] at::Tensor PicturesAsChannels(const at::Tensor& pictures, PicturePairs pairs);

/// The number of these channels.
inline constexpr int kPairChannels = 6;

}  // namespace millrace::pipeline
