#include "pipeline/nn/network_values.h"

#include "base/check.h"

namespace millrace::pipeline {
namespace {

void Put(const std::vector<at::Tensor>& values, const std::vector<at::Tensor>& into) {
  MILLRACE_CHECK(values.size() == into.size());
  for (std::size_t i = 0; i < into.size(); ++i) into[i].variable_data().copy_(values[i]);
}

}  // namespace

void PutValues(const std::vector<LayerState>& layers, const LayerChain& chain) {
  MILLRACE_CHECK(layers.size() == chain.layers.size());
  for (std::size_t i = 0; i < layers.size(); ++i) {
    Put(layers[i].parameters, chain.layers[i]->parameters());
    Put(layers[i].buffers, chain.layers[i]->buffers());
  }
}

}  // namespace millrace::pipeline
