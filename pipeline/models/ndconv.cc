#include <memory>
#include <utility>

#include <ATen/CPUGeneratorImpl.h>

#include "absl/strings/str_cat.h"
#include "pipeline/models/published_flow_networks.h"
#include "pipeline/nn/unit_layers.h"

namespace millrace::pipeline {
namespace {

constexpr int kKernel = 5;
constexpr int kChannels[] = {kPairChannels, 32, 64, 64, 128, 128, 64, 64, 2};

// The first convolution, over both pictures.
class PairLayer final : public NamedLayer {
 public:
  PairLayer(std::string name, ConvolutionUnit unit, PicturePairs pairs)
      : NamedLayer(std::move(name)), unit_(std::move(unit)), pairs_(pairs) {}

  [[nodiscard]] LayerValues Forward(const LayerValues& inputs) const override {
    return {unit_.Forward(PicturesAsChannels(inputs.main, pairs_)), {}};
  }
  [[nodiscard]] std::vector<at::Tensor> parameters() const override { return unit_.parameters(); }

 private:
  const ConvolutionUnit unit_;
  const PicturePairs pairs_;
};

}  // namespace

LayerChain MakeNdConv(const NamedFlowNetworkOptions& options) {
  at::Generator random = at::make_generator<at::CPUGeneratorImpl>(options.seed);
  constexpr int kLayers = static_cast<int>(std::size(kChannels)) - 1;
  LayerChain chain;
  for (int i = 0; i < kLayers; ++i) {
    const bool last = i + 1 == kLayers;
    const auto activation =
        last ? ConvolutionUnit::Activation::kNone : ConvolutionUnit::Activation::kRelu;
    ConvolutionUnit unit({.inputs = kChannels[i],
                          .outputs = kChannels[i + 1],
                          .kernel = kKernel,
                          .activation = activation,
                          .zero = last},
                         random);
    std::string name = absl::StrCat("convolution ", i + 1);
    if (i == 0) {
      chain.layers.push_back(
          std::make_unique<PairLayer>(std::move(name), std::move(unit), options.pairs));
    } else {
      chain.layers.push_back(std::make_unique<ConvolutionLayer>(std::move(name), std::move(unit)));
    }
  }
  return chain;
}

}  // namespace millrace::pipeline
