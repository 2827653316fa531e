#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ATen/CPUGeneratorImpl.h>

#include "pipeline/models/flow_layers.h"
#include "pipeline/models/published_flow_networks.h"

namespace millrace::pipeline {
namespace {

constexpr int kDecoder[] = {64, 48, 32};
constexpr int kFeatures[] = {16, 24, 32, 48};  // At 1/2, 1/4, 1/8 and 1/16.

// The coarsest level's feature pyramid. It gets the pictures from the camera and sends them to the
// other levels.
class FirstPyramidLayer final : public ConvolutionalLayer {
 public:
  using ConvolutionalLayer::ConvolutionalLayer;

  [[nodiscard]] LayerValues Forward(const LayerValues& inputs) const override {
    LayerValues made{Center(convolutions_.Forward(inputs.main)), {}};
    made.skips = {inputs.main, inputs.main};
    return made;
  }
};

// Another level's feature pyramid. It gets the pictures by a skip and passes the coarser flow on.
class PyramidLayer final : public ConvolutionalLayer {
 public:
  using ConvolutionalLayer::ConvolutionalLayer;

  [[nodiscard]] LayerValues Forward(const LayerValues& inputs) const override {
    LayerValues made{inputs.main, {}};
    made.skips = {Center(convolutions_.Forward(inputs.skips[0]))};
    return made;
  }
};

//   pictures ─▶ pyramid 1/16 ─▶ match ─▶ decode ─┐ flow
//        ├────▶ pyramid 1/8 ──▶ match ─▶ decode ─┤ flow
//        └────▶ pyramid 1/4 ──▶ match ─▶ decode a, b ─▶ flow
class FlowLevelsBuilder {
 public:
  explicit FlowLevelsBuilder(const NamedFlowNetworkOptions& options)
      : pairs_(options.pairs), random_(at::make_generator<at::CPUGeneratorImpl>(options.seed)) {}

  LayerChain Build() && {
    const int first = Add<FirstPyramidLayer>("pyramid 1/16", Pyramid(4));
    Add<FirstMatchLayer>("match 1/16", pairs_);
    Add<FirstDecodeLayer>("decode 1/16", Decoder(kMatchChannels + kFeatures[3], 0, 3));

    const int second = Add<PyramidLayer>("pyramid 1/8", Pyramid(3));
    const int match_8 = Add<MatchLayer>("match 1/8", pairs_, false);
    Add<DecodeLayer>("decode 1/8", Decoder(kMatchChannels + kFeatures[2] + kFlowChannels, 0, 3));

    const int third = Add<PyramidLayer>("pyramid 1/4", Pyramid(2));
    const int match_4 = Add<MatchLayer>("match 1/4", pairs_, true);
    Add<FirstDecodeLayer>("decode 1/4 a",
                          Decoder(kMatchChannels + kFeatures[1] + kFlowChannels, 0, 1));
    const int last = Add<LastDecodeLayer>("decode 1/4 b", Decoder(kDecoder[0], 1, 3));

    chain_.skips = {
        {first, second}, {first, third}, {second, match_8}, {third, match_4}, {match_4, last}};
    return std::move(chain_);
  }

 private:
  template <typename Kind, typename... Arguments>
  int Add(Arguments&&... arguments) {
    chain_.layers.push_back(std::make_unique<Kind>(std::forward<Arguments>(arguments)...));
    return static_cast<int>(chain_.layers.size()) - 1;
  }

  ConvolutionStack Pyramid(int octaves) {
    std::vector<ConvolutionStack::Size> sizes;
    for (int i = 0; i < octaves; ++i) {
      sizes.push_back({kFeatures[i], 2});
      sizes.push_back({kFeatures[i], 1});
    }
    return ConvolutionStack(1, sizes, random_);
  }

  // The decoder's hidden convolutions `begin` to `end` - 1; the last one is followed by the flow.
  ConvolutionStack Decoder(int inputs, int begin, int end) {
    std::vector<ConvolutionStack::Size> sizes;
    for (int i = begin; i < end; ++i) sizes.push_back({kDecoder[i]});
    ConvolutionStack decoder(inputs, sizes, random_);
    if (end == 3) decoder.AppendZero(kFlowChannels);
    return decoder;
  }

  const PicturePairs pairs_;
  at::Generator random_;
  LayerChain chain_;
};

}  // namespace

LayerChain MakeFlowLevels(const NamedFlowNetworkOptions& options) {
  return FlowLevelsBuilder(options).Build();
}

}  // namespace millrace::pipeline
