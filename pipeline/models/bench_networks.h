// The networks that `millrace bench` measures: those by which PARTIME and torchgpipe did, and that
// of optical flow.
//
// What they compute means nothing. Their weights and samples are random, and they learn to make
// zero of what they see; what counts is what that costs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include "absl/status/statusor.h"
#include "pipeline/nn/layer.h"

namespace millrace::pipeline {

struct BenchNetworkOptions {
  /// conv and conv_pool: convolutions; U-Nets: convolutions of each level. 0: the network's own.
  int layers = 0;
  /// Of conv and conv_pool; of the first level of the others. 0: the network's own.
  int channels = 0;
  /// Of the samples, which are [1, 3, height, width].
  int height = 128;
  int width = 128;
  std::uint64_t seed = 1;
  Precision precision = Precision::kFloat32;
};

/// conv: convolutions 5x5 at full resolution (PARTIME's experiment A).
/// conv_pool: the same, halved now and then by max-pooling (its experiment B).
/// resnet50, resnet152: as a chain of bottleneck blocks (its experiment C).
/// flow: Millrace's own, of optical flow.
/// unet_portals: torchgpipe's U-Net, without dropout; skips go straight to who reads them.
/// unet_carried: the same function; skips are handed from layer to layer.
[[nodiscard]] const std::vector<std::string>& BenchNetworkNames();

/// The network called `name`: the same one for the same options. Fails with INVALID_ARGUMENT naming
/// the networks that there are, or what is allowed.
[[nodiscard]] absl::StatusOr<LayerChain> MakeBenchNetwork(std::string_view name,
                                                          const BenchNetworkOptions& options);

/// Random samples of the options' size, in the layout that the networks' weights have.
[[nodiscard]] std::vector<at::Tensor> MakeBenchSamples(const BenchNetworkOptions& options,
                                                       int count);

/// The same function with every skip edge replaced by one from each layer to the next: layers that
/// a skip passes by hand it on.
[[nodiscard]] LayerChain CarrySkips(LayerChain chain);

}  // namespace millrace::pipeline
