// The kinds of networks behind MakeBenchNetwork(), each in its own file.
#pragma once

#include <vector>

#include "pipeline/models/bench_networks.h"

namespace millrace::pipeline {

inline constexpr int kBenchInputChannels = 3;

/// `pooled`: halves the size after every sixth of the layers, while a side of 4 is left.
[[nodiscard]] LayerChain MakeBenchConvolutions(const BenchNetworkOptions& options, bool pooled);

/// `blocks`: the number of bottleneck blocks at each resolution.
[[nodiscard]] LayerChain MakeBenchResNet(const BenchNetworkOptions& options,
                                         const std::vector<int>& blocks);

inline constexpr int kBenchFlowSide = 16;
/// REQUIRES: both sides are multiples of kBenchFlowSide.
[[nodiscard]] LayerChain MakeBenchFlow(const BenchNetworkOptions& options);

/// With skips as portals.
[[nodiscard]] LayerChain MakeBenchUNet(const BenchNetworkOptions& options);

}  // namespace millrace::pipeline
