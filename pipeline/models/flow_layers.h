// The layers of the coarse-to-fine networks of optical flow.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>

#include "pipeline/nn/layer.h"
#include "pipeline/nn/unit_layers.h"
#include "pipeline/ops/convolution_stack.h"
#include "pipeline/ops/match.h"
#include "pipeline/ops/warp.h"

namespace millrace::pipeline {

class ConvolutionalLayer : public NamedLayer {
 public:
  ConvolutionalLayer(std::string name, ConvolutionStack convolutions)
      : NamedLayer(std::move(name)), convolutions_(std::move(convolutions)) {}

  [[nodiscard]] std::vector<at::Tensor> parameters() const override {
    return convolutions_.parameters();
  }

 protected:
  const ConvolutionStack convolutions_;
};

/// Subtracts each channel's mean over the first two pictures: features that all pixels share would
/// make every match look as good as the right one. A third picture does not count, because it
/// judges the flow of the first two.
inline at::Tensor Center(const at::Tensor& features) {
  return features - features.narrow(0, 0, 2).mean({0, 2, 3}, /*keepdim=*/true);
}

/// One octave of the feature pyramid, of both pictures at once, centered. With `has_skip`, the
/// features also go to the match layer of the level.
class FeatureLayer final : public ConvolutionalLayer {
 public:
  FeatureLayer(std::string name, ConvolutionStack convolutions, bool has_skip)
      : ConvolutionalLayer(std::move(name), std::move(convolutions)), has_skip_(has_skip) {}

  [[nodiscard]] LayerValues Forward(const LayerValues& inputs) const override {
    at::Tensor features = Center(convolutions_.Forward(inputs.main));
    Tensors skips;
    if (has_skip_) skips.push_back(features);
    return {std::move(features), std::move(skips)};
  }

 private:
  const bool has_skip_;
};

/// The coarsest comparison, without a flow.
class FirstMatchLayer final : public NamedLayer {
 public:
  FirstMatchLayer(std::string name, PicturePairs pairs)
      : NamedLayer(std::move(name)), pairs_(pairs) {}

  [[nodiscard]] LayerValues Forward(const LayerValues& inputs) const override {
    return {Match(inputs.main, /*flow=*/{}, pairs_), {}};
  }

 private:
  const PicturePairs pairs_;
};

/// Compares through the flow of the coarser level. Its output channels are the comparison, the
/// features of the picture that the flow starts from and, last, that flow. With `has_skip`, the
/// flow is also a skip.
class MatchLayer final : public NamedLayer {
 public:
  MatchLayer(std::string name, PicturePairs pairs, bool has_skip)
      : NamedLayer(std::move(name)), pairs_(pairs), has_skip_(has_skip) {}

  [[nodiscard]] LayerValues Forward(const LayerValues& inputs) const override {
    at::Tensor flow = UpsampleFlow(inputs.main, 2);
    at::Tensor match = Match(inputs.skips[0], flow, pairs_);
    Tensors skips;
    if (has_skip_) skips.push_back(std::move(flow));
    return {std::move(match), std::move(skips)};
  }

 private:
  const PicturePairs pairs_;
  const bool has_skip_;
};

/// The coarsest decoder; its output is the flow itself.
class FirstDecodeLayer final : public ConvolutionalLayer {
 public:
  using ConvolutionalLayer::ConvolutionalLayer;

  [[nodiscard]] LayerValues Forward(const LayerValues& inputs) const override {
    return {convolutions_.Forward(inputs.main), {}};
  }
};

/// A decoder whose output corrects the flow in the last channels of its input.
class DecodeLayer final : public ConvolutionalLayer {
 public:
  using ConvolutionalLayer::ConvolutionalLayer;

  [[nodiscard]] LayerValues Forward(const LayerValues& inputs) const override {
    const at::Tensor flow =
        inputs.main.narrow(1, inputs.main.size(1) - kFlowChannels, kFlowChannels);
    return {flow + convolutions_.Forward(inputs.main), {}};
  }
};

/// The end of the finest decoder. Corrects the flow from a skip and upsamples it to full size.
class LastDecodeLayer final : public ConvolutionalLayer {
 public:
  using ConvolutionalLayer::ConvolutionalLayer;

  [[nodiscard]] LayerValues Forward(const LayerValues& inputs) const override {
    const at::Tensor& flow = inputs.skips[0];
    return {UpsampleFlow(flow + convolutions_.Forward(inputs.main), 4), {}};
  }
};

}  // namespace millrace::pipeline
