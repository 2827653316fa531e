// The network of optical flow as a benchmark: two colour channels of a sample are its two pictures.
#include <memory>
#include <utility>

#include "pipeline/models/bench_network_makers.h"
#include "pipeline/models/coarse_to_fine_network.h"
#include "pipeline/nn/unit_layers.h"

namespace millrace::pipeline {

LayerChain MakeBenchFlow(const BenchNetworkOptions& options) {
  LayerChain flow = MakeCoarseToFineNetwork({.seed = options.seed});
  LayerChain chain;
  chain.layers.push_back(std::make_unique<FunctionLayer>("pictures", [](const LayerValues& inputs) {
    return inputs.main.narrow(1, 0, 2).transpose(0, 1).contiguous();
  }));
  for (auto& layer : flow.layers) chain.layers.push_back(std::move(layer));
  for (const SkipEdge& edge : flow.skips) chain.skips.push_back({edge.from + 1, edge.to + 1});
  return chain;
}

}  // namespace millrace::pipeline
