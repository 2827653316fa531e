#include "pipeline/nn/layer_tensors.h"

#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"

namespace millrace::pipeline {
namespace {

std::string TensorName(int layer, const char* kind, std::size_t number) {
  return absl::StrCat(layer, ".", kind, ".", number);
}

void AddAll(int layer, const char* kind, const std::vector<at::Tensor>& tensors,
            NamedTensors& named) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    named.emplace_back(TensorName(layer, kind, i), tensors[i]);
  }
}

std::vector<at::Tensor> Take(const SafeTensors& file, int layer, const char* kind) {
  std::vector<at::Tensor> tensors;
  for (;;) {
    const at::Tensor next = FindTensor(file.tensors, TensorName(layer, kind, tensors.size()));
    if (!next.defined()) return tensors;
    tensors.push_back(next);
  }
}

std::int64_t TakeNumber(const SafeTensors& file, const std::string& name) {
  const auto found = file.metadata.find(name);
  return found == file.metadata.end() ? 0 : std::strtoll(found->second.c_str(), nullptr, 10);
}

}  // namespace

SafeTensors TensorsOf(const std::vector<LayerState>& layers, int first, int end) {
  SafeTensors file{.tensors = {}, .metadata = {{"format", "millrace stage"}}};
  for (int layer = first; layer < end; ++layer) {
    const LayerState& state = layers[layer];
    AddAll(layer, "parameter", state.parameters, file.tensors);
    AddAll(layer, "buffer", state.buffers, file.tensors);
    const OptimizerState& optimizer = state.optimizer;
    for (std::size_t i = 0; i < optimizer.of_parameters.size(); ++i) {
      AddAll(layer, absl::StrCat("optimizer.", i).c_str(), optimizer.of_parameters[i],
             file.tensors);
    }
    file.metadata[absl::StrCat(layer, ".updates")] = absl::StrCat(optimizer.counts.updates);
    file.metadata[absl::StrCat(layer, ".skipped")] = absl::StrCat(optimizer.counts.skipped);
  }
  return file;
}

LayerState LayerOf(const SafeTensors& file, int layer) {
  LayerState state{
      .parameters = Take(file, layer, "parameter"),
      .buffers = Take(file, layer, "buffer"),
      .optimizer = {.counts = {.updates = TakeNumber(file, absl::StrCat(layer, ".updates")),
                               .skipped = TakeNumber(file, absl::StrCat(layer, ".skipped"))}}};
  for (std::size_t i = 0; i < state.parameters.size(); ++i) {
    state.optimizer.of_parameters.push_back(
        Take(file, layer, absl::StrCat("optimizer.", i).c_str()));
  }
  return state;
}

}  // namespace millrace::pipeline
