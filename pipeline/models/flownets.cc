#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/conv_transpose2d.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/leaky_relu.h>

#include "absl/strings/str_cat.h"
#include "pipeline/models/published_flow_networks.h"
#include "pipeline/nn/unit_layers.h"
#include "pipeline/ops/warp.h"

namespace millrace::pipeline {
namespace {

using Activation = ConvolutionUnit::Activation;

constexpr double kSlope = 0.1;
constexpr int kFlowChannels = 2;

ConvolutionUnit LeakyUnit(int inputs, int outputs, int kernel, int stride, at::Generator& random) {
  return ConvolutionUnit({.inputs = inputs,
                          .outputs = outputs,
                          .kernel = kernel,
                          .stride = stride,
                          .activation = Activation::kLeakyRelu,
                          .slope = kSlope},
                         random);
}

ConvolutionUnit PredictFlow(int inputs, bool zero, at::Generator& random) {
  return ConvolutionUnit(
      {.inputs = inputs, .outputs = kFlowChannels, .activation = Activation::kNone, .zero = zero},
      random);
}

// A transposed 4x4 convolution without bias: doubles height and width.
class Deconvolution {
 public:
  Deconvolution(int inputs, int outputs, at::Generator& random)
      : weight_(at::empty({inputs, outputs, 4, 4}, at::kFloat)) {
    // Each value is the sum of four products per channel.
    weight_.normal_(0, std::sqrt(2.0 / (4 * inputs)), random);
    weight_.set_requires_grad(true);
  }

  [[nodiscard]] at::Tensor Forward(const at::Tensor& values) const {
    return at::conv_transpose2d(values, weight_, /*bias=*/{}, /*stride=*/2, /*padding=*/1);
  }
  [[nodiscard]] const at::Tensor& weight() const { return weight_; }

 private:
  at::Tensor weight_;
};

// One octave of the encoder; its output may also be a skip to the decoder.
class EncodeLayer final : public NamedLayer {
 public:
  EncodeLayer(std::string name, std::vector<ConvolutionUnit> units, bool has_skip)
      : NamedLayer(std::move(name)), units_(std::move(units)), has_skip_(has_skip) {}

  [[nodiscard]] LayerValues Forward(const LayerValues& inputs) const override {
    at::Tensor made = inputs.main;
    for (const ConvolutionUnit& unit : units_) made = unit.Forward(made);
    Tensors skips;
    if (has_skip_) skips.push_back(made);
    return {std::move(made), std::move(skips)};
  }
  [[nodiscard]] std::vector<at::Tensor> parameters() const override {
    std::vector<at::Tensor> all;
    for (const ConvolutionUnit& unit : units_) {
      all.insert(all.end(), unit.parameters().begin(), unit.parameters().end());
    }
    return all;
  }

 private:
  const std::vector<ConvolutionUnit> units_;
  const bool has_skip_;
};

// One octave of the decoder. Its input channels are a coarse flow, the values that predicted it,
// and the encoder's features of the next finer level from a skip.
class RefineLayer final : public NamedLayer {
 public:
  struct Shape {
    int inputs;
    int outputs;
  };

  RefineLayer(std::string name, const Shape& shape, at::Generator& random)
      : NamedLayer(std::move(name)),
        predict_(PredictFlow(shape.inputs, /*zero=*/false, random)),
        finer_(shape.inputs, shape.outputs, random),
        finer_flow_(kFlowChannels, kFlowChannels, random) {}

  [[nodiscard]] LayerValues Forward(const LayerValues& inputs) const override {
    const at::Tensor flow = finer_flow_.Forward(predict_.Forward(inputs.main));
    const at::Tensor finer = at::leaky_relu(finer_.Forward(inputs.main), kSlope);
    return {at::cat({inputs.skips[0], finer, flow}, 1), {}};
  }
  [[nodiscard]] std::vector<at::Tensor> parameters() const override {
    std::vector<at::Tensor> all = predict_.parameters();
    all.insert(all.end(), {finer_.weight(), finer_flow_.weight()});
    return all;
  }

 private:
  const ConvolutionUnit predict_;
  const Deconvolution finer_;
  const Deconvolution finer_flow_;
};

// The flow at a quarter of the picture's size, upsampled to full size.
class PredictLayer final : public NamedLayer {
 public:
  PredictLayer(std::string name, int inputs, at::Generator& random)
      : NamedLayer(std::move(name)), predict_(PredictFlow(inputs, /*zero=*/true, random)) {}

  [[nodiscard]] LayerValues Forward(const LayerValues& inputs) const override {
    return {UpsampleFlow(predict_.Forward(inputs.main), 4), {}};
  }
  [[nodiscard]] std::vector<at::Tensor> parameters() const override {
    return predict_.parameters();
  }

 private:
  const ConvolutionUnit predict_;
};

//   pair ─▶ 1/2 ─▶ 1/4 ─▶ 1/8 ─▶ 1/16 ─▶ 1/32 ─▶ 1/64
//                   │      │      │       │        └▶ refine 1/32 ─┐
//                   │      │      │       └───────────▶            │
//                   │      │      └──────────────────▶ refine 1/16 ┤
//                   │      └─────────────────────────▶ refine 1/8  ┤
//                   └────────────────────────────────▶ refine 1/4  ─▶ predict
class FlowNetSBuilder {
 public:
  explicit FlowNetSBuilder(const NamedFlowNetworkOptions& options)
      : pairs_(options.pairs), random_(at::make_generator<at::CPUGeneratorImpl>(options.seed)) {}

  LayerChain Build() && {
    chain_.layers.push_back(
        std::make_unique<FunctionLayer>("pair", [pairs = pairs_](const LayerValues& inputs) {
          return PicturesAsChannels(inputs.main, pairs);
        }));
    Encode("encode 1/2", {{kPairChannels, 64, 7, 2}}, false);
    const int quarter = Encode("encode 1/4", {{64, 128, 5, 2}}, true);
    const int eighth = Encode("encode 1/8", {{128, 256, 5, 2}, {256, 256, 3, 1}}, true);
    const int sixteenth = Encode("encode 1/16", {{256, 512, 3, 2}, {512, 512, 3, 1}}, true);
    const int thirty_second = Encode("encode 1/32", {{512, 512, 3, 2}, {512, 512, 3, 1}}, true);
    Encode("encode 1/64", {{512, 1024, 3, 2}, {1024, 1024, 3, 1}}, false);
    Refine("refine 1/32", {1024, 512}, thirty_second);
    Refine("refine 1/16", {512 + 512 + kFlowChannels, 256}, sixteenth);
    Refine("refine 1/8", {512 + 256 + kFlowChannels, 128}, eighth);
    Refine("refine 1/4", {256 + 128 + kFlowChannels, 64}, quarter);
    chain_.layers.push_back(
        std::make_unique<PredictLayer>("predict", 128 + 64 + kFlowChannels, random_));
    return std::move(chain_);
  }

 private:
  struct Size {
    int inputs;
    int outputs;
    int kernel;
    int stride;
  };

  int Encode(std::string name, const std::vector<Size>& sizes, bool has_skip) {
    std::vector<ConvolutionUnit> units;
    for (const Size& size : sizes) {
      units.push_back(LeakyUnit(size.inputs, size.outputs, size.kernel, size.stride, random_));
    }
    chain_.layers.push_back(
        std::make_unique<EncodeLayer>(std::move(name), std::move(units), has_skip));
    return static_cast<int>(chain_.layers.size()) - 1;
  }

  void Refine(std::string name, const RefineLayer::Shape& shape, int skip_from) {
    chain_.skips.push_back({skip_from, static_cast<int>(chain_.layers.size())});
    chain_.layers.push_back(std::make_unique<RefineLayer>(std::move(name), shape, random_));
  }

  const PicturePairs pairs_;
  at::Generator random_;
  LayerChain chain_;
};

}  // namespace

LayerChain MakeFlowNetS(const NamedFlowNetworkOptions& options) {
  return FlowNetSBuilder(options).Build();
}

}  // namespace millrace::pipeline
