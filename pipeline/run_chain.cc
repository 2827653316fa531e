#include "pipeline/run_chain.h"

#include <utility>

#include "base/check.h"

namespace millrace::pipeline {

at::Tensor RunChain(const LayerChain& chain, at::Tensor input) {
  std::vector<at::Tensor> in_flight(chain.skips.size());
  for (std::size_t i = 0; i < chain.layers.size(); ++i) {
    LayerValues inputs{std::move(input), {}};
    for (std::size_t edge = 0; edge < chain.skips.size(); ++edge) {
      if (chain.skips[edge].to == static_cast<int>(i)) inputs.skips.push_back(in_flight[edge]);
    }
    LayerValues outputs = chain.layers[i]->Forward(inputs);
    auto next = outputs.skips.begin();
    for (std::size_t edge = 0; edge < chain.skips.size(); ++edge) {
      if (chain.skips[edge].from != static_cast<int>(i)) continue;
      MILLRACE_CHECK(next != outputs.skips.end());
      in_flight[edge] = *next++;
    }
    input = std::move(outputs.main);
  }
  return input;
}

std::vector<at::Tensor> ParametersOf(const LayerChain& chain) {
  std::vector<at::Tensor> all;
  for (const auto& layer : chain.layers) {
    const std::vector<at::Tensor> own = layer->parameters();
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

}  // namespace millrace::pipeline
