#include "pipeline/cost_profile.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include <ATen/ops/ones_like.h>
#include <torch/csrc/autograd/autograd.h>

#include "pipeline/rmsprop.h"
#include "pipeline/stage.h"

namespace millrace::pipeline {
namespace {

constexpr int kRuns = 6;  // The first warms caches and allocators; the least is what counts.

double MillisecondsOf(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

// The layers of a chain as stages of one layer each, run once in order.
class Runner {
 public:
  Runner(const LayerChain& chain, const std::function<at::Tensor(const at::Tensor&)>& objective)
      : chain_(chain), objective_(objective) {
    constexpr auto kUnknown = std::numeric_limits<double>::infinity();
    for (int layer = 0; layer < static_cast<int>(chain.layers.size()); ++layer) {
      layers_.emplace_back(chain, layer, layer);
      // A learning rate of 0: the update does all its work and changes nothing.
      optimizers_.emplace_back(layers_.back().parameters(), 0.0);
      least_.push_back({kUnknown, kUnknown, kUnknown});
    }
  }

  void Run(const at::Tensor& input, const std::stop_token& stop) {
    at::Tensor main = input;
    std::vector<at::Tensor> skips(chain_.skips.size());
    for (std::size_t i = 0; i < layers_.size() && !stop.stop_requested(); ++i) {
      const std::vector<at::Tensor> outputs = RunLayer(i, InputsOf(i, main, skips));
      main = outputs[0];
      for (std::size_t w = 1; w < outputs.size(); ++w) {
        skips[layers_[i].outgoing()[w].edge] = outputs[w];
      }
    }
  }

  [[nodiscard]] const std::vector<StageCost>& least() const { return least_; }

 private:
  [[nodiscard]] std::vector<at::Tensor> InputsOf(std::size_t layer, const at::Tensor& main,
                                                 const std::vector<at::Tensor>& skips) const {
    std::vector<at::Tensor> inputs;
    for (const Wire& wire : layers_[layer].incoming()) {
      const at::Tensor& value = wire.edge == Wire::kNeighbour ? main : skips[wire.edge];
      inputs.push_back(value.detach().set_requires_grad(layer > 0));
    }
    return inputs;
  }

  // Goes forward and backward through one layer and updates it. Returns its outputs, detached.
  std::vector<at::Tensor> RunLayer(std::size_t layer, const std::vector<at::Tensor>& inputs) {
    const bool last = layer + 1 == layers_.size();
    std::vector<at::Tensor> outputs;
    std::vector<at::Tensor> ends;
    const double forward = MillisecondsOf([&] {
      ends = outputs = layers_[layer].Forward(inputs);
      if (last) ends = {objective_(outputs[0])};
    });
    std::vector<at::Tensor> gradients;
    gradients.reserve(ends.size());
    for (const at::Tensor& end : ends) gradients.push_back(at::ones_like(end));
    const double backward = MillisecondsOf([&] { torch::autograd::backward(ends, gradients); });
    const double update = MillisecondsOf([&] { optimizers_[layer].Step(); });

    StageCost& least = least_[layer];
    least.forward = std::min(least.forward, forward);
    least.backward = std::min(least.backward, backward);
    least.update = std::min(least.update, update);
    for (at::Tensor& output : outputs) output = output.detach();
    return outputs;
  }

  const LayerChain& chain_;
  const std::function<at::Tensor(const at::Tensor&)>& objective_;
  std::vector<Stage> layers_;
  std::vector<RmsProp> optimizers_;
  std::vector<StageCost> least_;
};

}  // namespace

std::vector<StageCost> ProfileLayers(const LayerChain& chain, const at::Tensor& input,
                                     const std::function<at::Tensor(const at::Tensor&)>& objective,
                                     const std::stop_token& stop) {
  Runner runner(chain, objective);
  for (int run = 0; run < kRuns; ++run) runner.Run(input, stop);
  for (const auto& layer : chain.layers) {
    for (const at::Tensor& parameter : layer->parameters()) parameter.mutable_grad() = at::Tensor();
  }
  return runner.least();
}

}  // namespace millrace::pipeline
