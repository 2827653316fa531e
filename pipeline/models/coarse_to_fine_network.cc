#include "pipeline/models/coarse_to_fine_network.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ATen/CPUGeneratorImpl.h>

#include "base/check.h"
#include "pipeline/models/flow_layers.h"
#include "pipeline/ops/convolution_stack.h"

namespace millrace::pipeline {
namespace {

// Adds the layers in order, and draws their weights from one generator in that order.
class Builder {
 public:
  explicit Builder(const CoarseToFineOptions& options)
      : options_(options), random_(at::make_generator<at::CPUGeneratorImpl>(options.seed)) {}

  LayerChain Build() &&;

 private:
  template <typename Kind, typename... Arguments>
  int Add(Arguments&&... arguments) {
    chain_.layers.push_back(std::make_unique<Kind>(std::forward<Arguments>(arguments)...));
    return static_cast<int>(chain_.layers.size()) - 1;
  }

  int AddFeatures(const char* name, int level, bool has_skip) {
    const int input = level == 0 ? 1 : options_.feature_channels[level - 1];
    const int output = options_.feature_channels[level];
    return Add<FeatureLayer>(name, ConvolutionStack(input, {{output, 2}, {output, 1}}, random_),
                             has_skip);
  }

  // The decoder's hidden convolutions `begin` to `end` - 1.
  ConvolutionStack HiddenConvolutions(int input_channels, int begin, int end) {
    std::vector<ConvolutionStack::Size> sizes;
    for (int i = begin; i < end; ++i) sizes.push_back({options_.decoder_channels[i]});
    return ConvolutionStack(input_channels, sizes, random_);
  }

  ConvolutionStack HiddenAndFlow(int input_channels, int begin) {
    ConvolutionStack all = HiddenConvolutions(input_channels, begin, 3);
    all.AppendZero(kFlowChannels);
    return all;
  }

  const CoarseToFineOptions options_;
  at::Generator random_;
  LayerChain chain_;
};

LayerChain Builder::Build() && {
  const auto& channels = options_.feature_channels;
  AddFeatures("features 1/2", 0, false);
  const int features_4 = AddFeatures("features 1/4", 1, true);
  const int features_8 = AddFeatures("features 1/8", 2, true);
  AddFeatures("features 1/16", 3, false);

  Add<FirstMatchLayer>("match 1/16", options_.pairs);
  Add<FirstDecodeLayer>("decode 1/16", HiddenAndFlow(kMatchChannels + channels[3], 0));

  const int match_8 = Add<MatchLayer>("match 1/8", options_.pairs, false);
  Add<DecodeLayer>("decode 1/8", HiddenAndFlow(kMatchChannels + channels[2] + kFlowChannels, 0));

  const int match_4 = Add<MatchLayer>("match 1/4", options_.pairs, true);
  Add<FirstDecodeLayer>("decode 1/4 a",
                        HiddenConvolutions(kMatchChannels + channels[1] + kFlowChannels, 0, 1));
  const int last =
      Add<LastDecodeLayer>("decode 1/4 b", HiddenAndFlow(options_.decoder_channels[0], 1));

  chain_.skips = {{features_4, match_4}, {features_8, match_8}, {match_4, last}};
  return std::move(chain_);
}

}  // namespace

LayerChain MakeCoarseToFineNetwork(const CoarseToFineOptions& options) {
  return Builder(options).Build();
}

}  // namespace millrace::pipeline
