// The networks that `millrace bench` measures: those of PARTIME and torchgpipe, and that of optical
// flow.
//
// Their results mean nothing; only the cost counts. Weights and samples are random, and the
// networks learn an output of zero.
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
  /// conv and conv_pool: convolutions; U-Nets: convolutions per level. 0: the network's default.
  int layers = 0;
  /// Of conv and conv_pool; of the first level of the others. 0: the network's default.
  int channels = 0;
  /// Of the samples, which are [1, 3, height, width].
  int height = 128;
  int width = 128;
  std::uint64_t seed = 1;
  Precision precision = Precision::kFloat32;
};

/// - `conv`: 5x5 convolutions at full resolution (PARTIME's experiment A).
/// - `conv_pool`: the same, halved at intervals by max-pooling (its experiment B).
/// - `resnet50`, `resnet152`: a chain of bottleneck blocks (its experiment C).
/// - `flow`: Millrace's network of optical flow.
/// - `unet_portals`: torchgpipe's U-Net without dropout. Skips go directly to their readers.
/// - `unet_carried`: the same function. Skips are passed from layer to layer.
[[nodiscard]] const std::vector<std::string>& BenchNetworkNames();

/// The network called `name`; the same options give the same network. Fails with INVALID_ARGUMENT,
/// which lists the networks or the allowed values.
[[nodiscard]] absl::StatusOr<LayerChain> MakeBenchNetwork(std::string_view name,
                                                          const BenchNetworkOptions& options);

/// Random samples of the options' size, in the layout of the networks' weights.
[[nodiscard]] std::vector<at::Tensor> MakeBenchSamples(const BenchNetworkOptions& options,
                                                       int count);

/// The same function with every skip edge replaced by edges from each layer to the next. The layers
/// between its ends pass the skip on.
[[nodiscard]] LayerChain CarrySkips(LayerChain chain);

}  // namespace millrace::pipeline
