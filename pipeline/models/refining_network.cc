#include "pipeline/models/refining_network.h"

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/pixel_unshuffle.h>
#include <ATen/ops/upsample_nearest2d.h>

#include "pipeline/classical/prior_flow.h"
#include "pipeline/models/flow_layers.h"
#include "pipeline/nn/unit_layers.h"
#include "pipeline/ops/blend_flow.h"

namespace millrace::pipeline {
namespace {

// Half the side of the window that the prior is compared with.
constexpr int kSurroundings = 7;
// The evidence's channels at full size: picture, difference, prior (2), its length.
constexpr int kEvidence = 5;
// So the pixel's own prior has nearly all of the weight before the network learns.
constexpr double kTrust = 6;

std::span<float> ValuesOf(const at::Tensor& tensor) {
  return {tensor.mutable_data_ptr<float>(), static_cast<std::size_t>(tensor.numel())};
}

// The mean of the window that reaches (dy, dx) to each side, without what lies outside.
at::Tensor MeanAround(const at::Tensor& values, std::array<std::int64_t, 2> reach) {
  return at::avg_pool2d(values, {2 * reach[0] + 1, 2 * reach[1] + 1}, {1, 1}, reach,
                        /*ceil_mode=*/false, /*count_include_pad=*/false);
}

// Makes the prior and the evidence about it. No gradient passes.
class PriorLayer final : public NamedLayer {
 public:
  PriorLayer(std::string name, PicturePairs pairs) : NamedLayer(std::move(name)), pairs_(pairs) {}

  [[nodiscard]] LayerValues Forward(const LayerValues& inputs) const override {
    const at::NoGradGuard no_graph;
    const at::Tensor from = FromPictures(inputs.main, pairs_);
    const at::Tensor to = ToPictures(inputs.main, pairs_);
    const at::Tensor prior = PriorOf(from, to);
    LayerValues made{EvidenceOf(from, to, prior), {}};
    made.skips.push_back(prior);
    return made;
  }

  [[nodiscard]] bool capturable() const override { return false; }

 private:
  [[nodiscard]] at::Tensor PriorOf(const at::Tensor& from, const at::Tensor& to) const {
    const at::Tensor previous = from.to(at::kCPU, at::kFloat).contiguous();
    const at::Tensor current = to.to(at::kCPU, at::kFloat).contiguous();
    const std::int64_t height = from.size(2);
    const std::int64_t width = from.size(3);
    if (!method_ || width_ != width || height_ != height) {
      method_.emplace(static_cast<int>(width), static_cast<int>(height));
      width_ = width;
      height_ = height;
    }
    const at::Tensor flow = at::empty({from.size(0), kFlowChannels, height, width}, at::kFloat);
    for (std::int64_t pair = 0; pair < from.size(0); ++pair) {
      method_->Compute(ValuesOf(previous[pair]), ValuesOf(current[pair]), ValuesOf(flow[pair]));
    }
    return flow.to(from.options());
  }

  static at::Tensor EvidenceOf(const at::Tensor& from, const at::Tensor& to,
                               const at::Tensor& prior) {
    const at::Tensor difference = LookUpHeld(to, LookUpGrid(prior)) - from;
    // Rows, then columns: the same mean as of all at once, in fewer operations.
    const at::Tensor around = MeanAround(MeanAround(prior, {0, kSurroundings}), {kSurroundings, 0});
    const at::Tensor length = prior.square().sum(1, /*keepdim=*/true).sqrt();
    // Factors that bring all channels near a spread of 1.
    const at::Tensor evidence =
        at::cat({from - 0.5, difference * 4, (prior - around).clamp(-8, 8) * 0.25,
                 (length + 0.1).log() * 0.3},
                1);
    return at::pixel_unshuffle(evidence, 2).contiguous(at::MemoryFormat::ChannelsLast);
  }

  const PicturePairs pairs_;
  mutable std::optional<PriorFlow> method_;
  mutable std::int64_t width_ = 0;
  mutable std::int64_t height_ = 0;
};

// Convolutions whose output is also a skip, if wanted.
class EncodeLayer final : public ConvolutionalLayer {
 public:
  EncodeLayer(std::string name, ConvolutionStack convolutions, bool has_skip)
      : ConvolutionalLayer(std::move(name), std::move(convolutions)), has_skip_(has_skip) {}

  [[nodiscard]] LayerValues Forward(const LayerValues& inputs) const override {
    LayerValues made{convolutions_.Forward(inputs.main), {}};
    if (has_skip_) made.skips.push_back(made.main);
    return made;
  }

 private:
  const bool has_skip_;
};

// Doubles the size, and joins the features of that size.
class JoinLayer final : public ConvolutionalLayer {
 public:
  using ConvolutionalLayer::ConvolutionalLayer;

  [[nodiscard]] LayerValues Forward(const LayerValues& inputs) const override {
    const at::Tensor& fine = inputs.skips[0];
    const at::Tensor coarse = at::upsample_nearest2d(inputs.main, {fine.size(2), fine.size(3)});
    return {convolutions_.Forward(at::cat({coarse, fine}, 1)), {}};
  }
};

// Mixes the prior.
class BlendLayer final : public NamedLayer {
 public:
  BlendLayer(std::string name, int inputs, at::Generator& random)
      : NamedLayer(std::move(name)),
        choices_({.inputs = inputs,
                  .outputs = static_cast<int>(kCellPixels * kBlendChannels),
                  .kernel = 1,
                  .activation = ConvolutionUnit::Activation::kNone,
                  .zero = true},
                 random) {
    choices_.parameters()[1].variable_data().narrow(0, 0, kCellPixels).fill_(kTrust);
  }

  [[nodiscard]] LayerValues Forward(const LayerValues& inputs) const override {
    return {BlendFlow(inputs.skips[0], choices_.Forward(inputs.main)), {}};
  }
  [[nodiscard]] std::vector<at::Tensor> parameters() const override {
    return choices_.parameters();
  }

 private:
  const ConvolutionUnit choices_;
};

// Adds the layers in order, and draws their weights from one generator in that order.
class Builder {
 public:
  explicit Builder(const RefiningNetworkOptions& options)
      : options_(options), random_(at::make_generator<at::CPUGeneratorImpl>(options.seed)) {}

  LayerChain Build() && {
    const auto& [half, quarter, eighth] = options_.channels;
    const int prior = Add<PriorLayer>("prior", options_.pairs);
    const int encode_2 = Add<EncodeLayer>("encode 1/2", Stack(4 * kEvidence, {{half}}), true);
    const int encode_4 =
        Add<EncodeLayer>("encode 1/4", Stack(half, {{quarter, 2}, {quarter}}), true);
    Add<EncodeLayer>("encode 1/8", Stack(quarter, {{eighth, 2}, {eighth}}), false);
    const int decode_4 = Add<JoinLayer>("decode 1/4", Stack(eighth + quarter, {{quarter}}));
    const int last = half + half / 2;
    const int decode_2 = Add<JoinLayer>("decode 1/2", Stack(quarter + half, {{last}}));
    const int blend = Add<BlendLayer>("blend", last, random_);
    chain_.skips = {{prior, blend}, {encode_2, decode_2}, {encode_4, decode_4}};
    return std::move(chain_);
  }

 private:
  template <typename Kind, typename... Arguments>
  int Add(Arguments&&... arguments) {
    chain_.layers.push_back(std::make_unique<Kind>(std::forward<Arguments>(arguments)...));
    return static_cast<int>(chain_.layers.size()) - 1;
  }

  ConvolutionStack Stack(int inputs, const std::vector<ConvolutionStack::Size>& sizes) {
    return ConvolutionStack(inputs, sizes, random_);
  }

  const RefiningNetworkOptions options_;
  at::Generator random_;
  LayerChain chain_;
};

}  // namespace

LayerChain MakeRefiningNetwork(const RefiningNetworkOptions& options) {
  return Builder(options).Build();
}

}  // namespace millrace::pipeline
