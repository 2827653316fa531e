#include "pipeline/stage.h"

#include "base/check.h"
#include "pipeline/seeded_draws.h"

namespace millrace::pipeline {

Stage::Stage(const LayerChain& chain, int first, int last)
    : chain_(chain), first_(first), last_(last) {
  MILLRACE_CHECK(0 <= first && first <= last && last < static_cast<int>(chain.layers.size()));
  incoming_.push_back({.from = first - 1, .to = first});
  outgoing_.push_back({.from = last, .to = last + 1});
  for (int edge = 0; edge < static_cast<int>(chain.skips.size()); ++edge) {
    const auto [from, to] = chain.skips[edge];
    const bool from_inside = first <= from && from <= last;
    const bool to_inside = first <= to && to <= last;
    if (to_inside && !from_inside) incoming_.push_back({edge, from, to});
    if (from_inside && !to_inside) outgoing_.push_back({edge, from, to});
  }
}

std::vector<at::Tensor> Stage::Forward(const std::vector<at::Tensor>& inputs,
                                       std::optional<std::uint64_t> seed) const {
  MILLRACE_CHECK(inputs.size() == incoming_.size());
  std::vector<at::Tensor> skips(chain_.skips.size());
  for (std::size_t i = 1; i < incoming_.size(); ++i) skips[incoming_[i].edge] = inputs[i];

  at::Tensor main = inputs[0];
  for (int layer = first_; layer <= last_; ++layer) {
    LayerValues in{main, {}};
    for (std::size_t edge = 0; edge < skips.size(); ++edge) {
      if (chain_.skips[edge].to == layer) in.skips.push_back(skips[edge]);
    }
    std::optional<SeededDraws> draws;
    if (seed) draws.emplace(MixSeeds(*seed, layer));
    LayerValues out = chain_.layers[layer]->Forward(in);
    main = out.main;
    std::size_t made = 0;
    for (std::size_t edge = 0; edge < skips.size(); ++edge) {
      if (chain_.skips[edge].from == layer) skips[edge] = out.skips.at(made++);
    }
  }

  std::vector<at::Tensor> outputs = {main};
  for (std::size_t i = 1; i < outgoing_.size(); ++i) outputs.push_back(skips[outgoing_[i].edge]);
  return outputs;
}

std::vector<at::Tensor> Stage::parameters() const {
  std::vector<at::Tensor> all;
  for (int layer = first_; layer <= last_; ++layer) {
    for (const at::Tensor& parameter : chain_.layers[layer]->parameters()) all.push_back(parameter);
  }
  return all;
}

std::vector<at::Tensor> Stage::buffers() const {
  std::vector<at::Tensor> all;
  for (int layer = first_; layer <= last_; ++layer) {
    for (const at::Tensor& buffer : chain_.layers[layer]->buffers()) all.push_back(buffer);
  }
  return all;
}

std::vector<std::string> Stage::layer_names() const {
  std::vector<std::string> names;
  for (int layer = first_; layer <= last_; ++layer) names.push_back(chain_.layers[layer]->name());
  return names;
}

Stage WholeChain(const LayerChain& chain) {
  return {chain, 0, static_cast<int>(chain.layers.size()) - 1};
}

}  // namespace millrace::pipeline
