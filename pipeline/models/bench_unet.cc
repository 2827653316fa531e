#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/upsample_nearest2d.h>

#include "absl/strings/str_cat.h"
#include "pipeline/models/bench_network_makers.h"
#include "pipeline/nn/unit_layers.h"

namespace millrace::pipeline {
namespace {

constexpr int kDeepest = 5;

// Builds the chain from front to back.
//
//   encode 1.1 .. 1.n ── pool 1 ── encode 2.1 .. ── pool 2 ── bottom ── join 2 ── decode 2.1 .. ──
//   join 1 ── ...
//                 └──────────────────────────────────────────────────────────────────────────────────┘
class UNetBuilder {
 public:
  explicit UNetBuilder(const BenchNetworkOptions& options)
      : options_(options), random_(at::detail::createCPUGenerator(options.seed)) {}

  LayerChain Build() {
    int depth = 1;
    while (depth < kDeepest && (std::min(options_.height, options_.width) >> (depth + 1)) >= 2) {
      ++depth;
    }
    for (int level = 1; level <= depth; ++level) Encode(level);
    AddConvolutions("bottom", Width(depth + 1), Width(depth), /*has_skip=*/false);
    for (int level = depth; level >= 1; --level) Decode(level);
    const ConvolutionUnit::Options last{.inputs = channels_,
                                        .outputs = 1,
                                        .kernel = 1,
                                        .activation = ConvolutionUnit::Activation::kNone};
    Add<ConvolutionLayer>("classify", ConvolutionUnit(last, random_));
    return std::move(chain_);
  }

 private:
  [[nodiscard]] int Width(int level) const { return options_.channels << (level - 1); }

  void Encode(int level) {
    AddConvolutions(absl::StrCat("encode ", level), Width(level), Width(level), /*has_skip=*/true);
    skip_from_.push_back(static_cast<int>(chain_.layers.size()) - 1);
    Add<FunctionLayer>(absl::StrCat("pool ", level), MaxPooling(2));
  }

  void Decode(int level) {
    chain_.skips.push_back({skip_from_[level - 1], static_cast<int>(chain_.layers.size())});
    Add<FunctionLayer>(absl::StrCat("join ", level), [](const LayerValues& inputs) {
      const at::Tensor& skip = inputs.skips[0];
      return at::cat({at::upsample_nearest2d(inputs.main, {skip.size(2), skip.size(3)}), skip}, 1);
    });
    channels_ *= 2;
    AddConvolutions(absl::StrCat("decode ", level), Width(level), Width(std::max(1, level - 1)),
                    /*has_skip=*/false);
  }

  void AddConvolutions(const std::string& name, int width, int outputs, bool has_skip) {
    for (int i = 1; i <= options_.layers; ++i) {
      const bool last = i == options_.layers;
      const ConvolutionUnit::Options unit{.inputs = channels_,
                                          .outputs = last ? outputs : width,
                                          .normalized = true,
                                          .activation = ConvolutionUnit::Activation::kLeakyRelu};
      Add<ConvolutionLayer>(absl::StrCat(name, ".", i), ConvolutionUnit(unit, random_),
                            last && has_skip);
      channels_ = unit.outputs;
    }
  }

  template <typename L, typename... Arguments>
  void Add(Arguments&&... arguments) {
    chain_.layers.push_back(std::make_unique<L>(std::forward<Arguments>(arguments)...));
  }

  const BenchNetworkOptions options_;
  at::Generator random_;
  LayerChain chain_;
  std::vector<int> skip_from_;  // Per level, the layer that makes the skip.
  int channels_ = kBenchInputChannels;
};

// A layer that also passes on the skips that cross it.
class CarryingLayer final : public Layer {
 public:
  // A skip that the layer reads or makes; if both are false, the layer passes it on.
  struct SkipUse {
    bool read_here;
    bool made_here;
  };

  CarryingLayer(std::unique_ptr<Layer> inner, std::vector<SkipUse> skip_uses)
      : inner_(std::move(inner)), skip_uses_(std::move(skip_uses)) {}

  [[nodiscard]] const std::string& name() const override { return inner_->name(); }
  [[nodiscard]] std::vector<at::Tensor> parameters() const override { return inner_->parameters(); }

  [[nodiscard]] LayerValues Forward(const LayerValues& inputs) const override {
    LayerValues own{inputs.main, {}};
    Tensors passing;
    auto in = inputs.skips.begin();
    for (const SkipUse& skip : skip_uses_) {
      if (skip.made_here) continue;
      (skip.read_here ? own.skips : passing).push_back(*in++);
    }
    LayerValues made = inner_->Forward(own);
    LayerValues outputs{std::move(made.main), {}};
    auto passed = passing.begin();
    auto fresh = made.skips.begin();
    for (const SkipUse& skip : skip_uses_) {
      if (!skip.read_here) outputs.skips.push_back(skip.made_here ? *fresh++ : *passed++);
    }
    return outputs;
  }

 private:
  const std::unique_ptr<Layer> inner_;
  const std::vector<SkipUse> skip_uses_;  // In the order of the edges.
};

}  // namespace

LayerChain MakeBenchUNet(const BenchNetworkOptions& options) {
  return UNetBuilder(options).Build();
}

LayerChain CarrySkips(LayerChain chain) {
  LayerChain skip_uses;
  for (const auto& [from, to] : chain.skips) {
    for (int layer = from; layer < to; ++layer) skip_uses.skips.push_back({layer, layer + 1});
  }
  for (int layer = 0; layer < static_cast<int>(chain.layers.size()); ++layer) {
    std::vector<CarryingLayer::SkipUse> here;
    for (const auto& [from, to] : chain.skips) {
      if (from <= layer && layer <= to) here.push_back({layer == to, layer == from});
    }
    skip_uses.layers.push_back(
        std::make_unique<CarryingLayer>(std::move(chain.layers[layer]), std::move(here)));
  }
  return skip_uses;
}

}  // namespace millrace::pipeline
