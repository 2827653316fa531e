#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/zeros.h>

#include "absl/strings/str_cat.h"
#include "pipeline/models/bench_network_makers.h"
#include "pipeline/nn/unit_layers.h"
#include "pipeline/ops/split_operators.h"

namespace millrace::pipeline {
namespace {

using Activation = ConvolutionUnit::Activation;

constexpr int kExpansion = 4;
constexpr int kClasses = 1000;

// Three convolutions beside a shortcut. The shortcut is a convolution if the shape changes.
class BottleneckLayer final : public NamedLayer {
 public:
  struct Shape {
    int inputs;
    int width;
    int stride;
  };

  BottleneckLayer(std::string name, const Shape& shape, at::Generator& random)
      : NamedLayer(std::move(name)) {
    const int outputs = kExpansion * shape.width;
    units_.emplace_back(UnitOptions(shape.inputs, shape.width, 1, 1, Activation::kRelu), random);
    units_.emplace_back(UnitOptions(shape.width, shape.width, 3, shape.stride, Activation::kRelu),
                        random);
    units_.emplace_back(UnitOptions(shape.width, outputs, 1, 1, Activation::kNone), random);
    if (shape.inputs == outputs && shape.stride == 1) return;
    shortcut_.emplace(UnitOptions(shape.inputs, outputs, 1, shape.stride, Activation::kNone),
                      random);
  }

  [[nodiscard]] LayerValues Forward(const LayerValues& inputs) const override {
    at::Tensor made = inputs.main;
    for (const ConvolutionUnit& unit : units_) made = unit.Forward(made);
    return {at::relu(made + (shortcut_ ? shortcut_->Forward(inputs.main) : inputs.main)), {}};
  }

  [[nodiscard]] std::vector<at::Tensor> parameters() const override {
    std::vector<at::Tensor> all;
    const auto append = [&all](const ConvolutionUnit& unit) {
      all.insert(all.end(), unit.parameters().begin(), unit.parameters().end());
    };
    std::for_each(units_.begin(), units_.end(), append);
    if (shortcut_) append(*shortcut_);
    return all;
  }

 private:
  static ConvolutionUnit::Options UnitOptions(int inputs, int outputs, int kernel, int stride,
                                              Activation activation) {
    return {.inputs = inputs,
            .outputs = outputs,
            .kernel = kernel,
            .stride = stride,
            .normalized = true,
            .activation = activation};
  }

  std::vector<ConvolutionUnit> units_;
  std::optional<ConvolutionUnit> shortcut_;
};

// The mean over space, followed by a linear layer.
class ClassifyLayer final : public NamedLayer {
 public:
  ClassifyLayer(int inputs, at::Generator& random)
      : NamedLayer("classify"),
        weight_(at::empty({kClasses, inputs}, at::kFloat).normal_(0, 0.01, random)),
        bias_(at::zeros({kClasses}, at::kFloat)) {
    weight_.set_requires_grad(true);
    bias_.set_requires_grad(true);
  }

  [[nodiscard]] LayerValues Forward(const LayerValues& inputs) const override {
    return {SplitLinear(inputs.main.mean({2, 3}), weight_, bias_), {}};
  }
  [[nodiscard]] std::vector<at::Tensor> parameters() const override { return {weight_, bias_}; }

 private:
  const at::Tensor weight_;
  const at::Tensor bias_;
};

}  // namespace

LayerChain MakeBenchResNet(const BenchNetworkOptions& options, const std::vector<int>& blocks) {
  at::Generator random = at::detail::createCPUGenerator(options.seed);
  LayerChain chain;
  const ConvolutionUnit::Options stem{.inputs = kBenchInputChannels,
                                      .outputs = options.channels,
                                      .kernel = 7,
                                      .stride = 2,
                                      .normalized = true};
  chain.layers.push_back(std::make_unique<ConvolutionLayer>("stem", ConvolutionUnit(stem, random)));
  chain.layers.push_back(std::make_unique<FunctionLayer>("pool", MaxPooling(3)));
  int inputs = options.channels;
  for (std::size_t level = 0; level < blocks.size(); ++level) {
    const int width = options.channels << level;
    for (int block = 0; block < blocks[level]; ++block) {
      const int stride = level > 0 && block == 0 ? 2 : 1;
      chain.layers.push_back(
          std::make_unique<BottleneckLayer>(absl::StrCat("block ", level + 1, ".", block + 1),
                                            BottleneckLayer::Shape{inputs, width, stride}, random));
      inputs = kExpansion * width;
    }
  }
  chain.layers.push_back(std::make_unique<ClassifyLayer>(inputs, random));
  return chain;
}

}  // namespace millrace::pipeline
