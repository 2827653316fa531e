#include "pipeline/nn/stage.h"

#include "base/check.h"
#include "pipeline/nn/autocast.h"
#include "pipeline/nn/seeded_draws.h"

namespace millrace::pipeline {

Stage::Stage(const LayerChain& chain, int first, int last)
    : chain_(chain), first_(first), last_(last) {
  MILLRACE_CHECK(0 <= first && first <= last && last < static_cast<int>(chain.layers.size()));
  incoming_.push_back({.from = first - 1, .to = first});
  outgoing_.push_back({.from = last, .to = last + 1});
  of_layers_.resize(last - first + 1);
  for (int edge = 0; edge < static_cast<int>(chain.skips.size()); ++edge) {
    const auto [from, to] = chain.skips[edge];
    const bool from_inside = first <= from && from <= last;
    const bool to_inside = first <= to && to <= last;
    if (!from_inside && !to_inside) continue;
    const int place = skips_++;
    if (from_inside) of_layers_[from - first].makes.push_back(place);
    if (to_inside) of_layers_[to - first].reads.push_back(place);
    if (!from_inside) {
      incoming_.push_back({edge, from, to});
      skips_in_.push_back(place);
    }
    if (!to_inside) {
      outgoing_.push_back({edge, from, to});
      skips_out_.push_back(place);
    }
  }
}

Tensors Stage::Forward(at::TensorList inputs, std::optional<std::uint64_t> seed) const {
  MILLRACE_CHECK(inputs.size() == incoming_.size());
  Tensors skips(skips_);
  for (std::size_t i = 0; i < skips_in_.size(); ++i) skips[skips_in_[i]] = inputs[i + 1];

  const bool lower = chain_.precision == Precision::kBFloat16;
  LayerValues values{inputs[0], {}};
  for (int layer = first_; layer <= last_; ++layer) {
    const Skips& own = of_layers_[layer - first_];
    values.skips.clear();
    for (int place : own.reads) values.skips.push_back(skips[place]);
    std::optional<SeededDraws> draws;
    if (seed) draws.emplace(MixSeeds(*seed, layer));
    {
      const at::DeviceType device = values.main.device().type();
      std::optional<Autocast> bfloat16;
      if (lower && device != at::kCPU) bfloat16.emplace(device);
      values = chain_.layers[layer]->Forward(values);
      if (bfloat16) Autocast::ToFloat(values);
    }
    MILLRACE_CHECK(values.skips.size() >= own.makes.size());
    for (std::size_t i = 0; i < own.makes.size(); ++i) {
      skips[own.makes[i]] = std::move(values.skips[i]);
    }
  }

  Tensors outputs = {std::move(values.main)};
  for (int place : skips_out_) outputs.push_back(skips[place]);
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

bool Stage::capturable() const {
  for (int i = first_; i <= last_; ++i) {
    if (!chain_.layers[static_cast<std::size_t>(i)]->capturable()) return false;
  }
  return true;
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
