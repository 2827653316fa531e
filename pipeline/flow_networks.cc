#include "pipeline/flow_networks.h"

#include <ATen/ops/cat.h>

#include "base/check.h"
#include "pipeline/flow_network.h"
#include "pipeline/flow_network_kinds.h"

namespace millrace::pipeline {

LayerChain MakeNamedFlowNetwork(const NamedFlowNetworkOptions& options) {
  if (options.name == "levels") return MakeFlowLevels(options);
  if (options.name == "ndconv") return MakeNdConv(options);
  if (options.name == "resunet") return MakeResUnet(options);
  if (options.name == "flownets") return MakeFlowNetS(options);
  MILLRACE_CHECK(options.name == "flow");
  return MakeFlowNetwork({.seed = options.seed, .both_ways = options.both_ways});
}

at::Tensor PicturesAsChannels(const at::Tensor& pictures, bool both_ways) {
  const auto sample = [&](const at::Tensor& pair) {
    return pair.reshape({1, kPairChannels, pair.size(2), pair.size(3)});
  };
  const at::Tensor there = sample(pictures.flip(0));
  return both_ways ? at::cat({there, sample(pictures)}, 0) : there;
}

}  // namespace millrace::pipeline
