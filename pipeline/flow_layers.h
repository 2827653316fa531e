// What the coarse-to-fine networks of optical flow are made of.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>

#include "pipeline/convolutions.h"
#include "pipeline/correlation.h"
#include "pipeline/layer.h"
#include "pipeline/unit_layers.h"
#include "pipeline/warp.h"

namespace millrace::pipeline {

inline constexpr int kMatchRadius = 3;
inline constexpr int kMatchChannels = (2 * kMatchRadius + 1) * (2 * kMatchRadius + 1);
inline constexpr int kFlowChannels = 2;

/// The picture that a flow starts from and the one that it leads to, of both pictures' features.
/// Both ways, the flow from the current picture to the previous one is a second sample.
class Directions {
 public:
  explicit Directions(bool both_ways) : both_ways_(both_ways) {}

  [[nodiscard]] at::Tensor From(const at::Tensor& features) const {
    return both_ways_ ? features : features.narrow(0, 0, 1);
  }
  [[nodiscard]] at::Tensor To(const at::Tensor& features) const {
    return both_ways_ ? features.flip(0) : features.narrow(0, 1, 1);
  }

 private:
  const bool both_ways_;
};

inline at::Tensor Match(const at::Tensor& from, const at::Tensor& to) {
  std::vector<at::Tensor> samples;
  for (std::int64_t i = 0; i < from.size(0); ++i) {
    samples.push_back(Correlate(from.narrow(0, i, 1), to.narrow(0, i, 1), kMatchRadius));
  }
  return samples.size() == 1 ? samples.front() : at::cat(samples, 0);
}

class ConvolutionalLayer : public NamedLayer {
 public:
  ConvolutionalLayer(std::string name, Convolutions convolutions)
      : NamedLayer(std::move(name)), convolutions_(std::move(convolutions)) {}

  [[nodiscard]] std::vector<at::Tensor> parameters() const override {
    return convolutions_.parameters();
  }

 protected:
  const Convolutions convolutions_;
};

/// One octave of the feature pyramid, of both pictures at once. May send its features on to the
/// match layer of its level.
class FeatureLayer final : public ConvolutionalLayer {
 public:
  FeatureLayer(std::string name, Convolutions convolutions, bool has_skip)
      : ConvolutionalLayer(std::move(name), std::move(convolutions)), has_skip_(has_skip) {}

  [[nodiscard]] LayerValues Forward(const LayerValues& inputs) const override {
    at::Tensor features = convolutions_.Forward(inputs.main);
    Tensors skips;
    if (has_skip_) skips.push_back(features);
    return {std::move(features), std::move(skips)};
  }

 private:
  const bool has_skip_;
};

/// The coarsest comparison: no flow is known yet.
class FirstMatchLayer final : public NamedLayer {
 public:
  FirstMatchLayer(std::string name, Directions directions)
      : NamedLayer(std::move(name)), directions_(directions) {}

  [[nodiscard]] LayerValues Forward(const LayerValues& inputs) const override {
    const at::Tensor features = NormalizeChannels(inputs.main);
    const at::Tensor match = Match(directions_.From(features), directions_.To(features));
    return {at::cat({match, directions_.From(inputs.main)}, 1), {}};
  }

 private:
  const Directions directions_;
};

/// Compares through the flow of the coarser level. Makes the comparison, the previous picture's
/// features and, last, the flow that they are relative to; sends that flow on if asked to.
class MatchLayer final : public NamedLayer {
 public:
  MatchLayer(std::string name, Directions directions, bool has_skip)
      : NamedLayer(std::move(name)), directions_(directions), has_skip_(has_skip) {}

  [[nodiscard]] LayerValues Forward(const LayerValues& inputs) const override {
    const at::Tensor& features = inputs.skips[0];
    const at::Tensor flow = UpsampleFlow(inputs.main, 2);
    const at::Tensor normalized = NormalizeChannels(features);
    const at::Tensor seen = LookUp(directions_.To(normalized), LookUpGrid(flow));
    const at::Tensor match = Match(directions_.From(normalized), seen);
    Tensors skips;
    if (has_skip_) skips.push_back(flow);
    return {at::cat({match, directions_.From(features), flow}, 1), std::move(skips)};
  }

 private:
  const Directions directions_;
  const bool has_skip_;
};

/// The coarsest decoder: its result is the flow itself.
class FirstDecodeLayer final : public ConvolutionalLayer {
 public:
  using ConvolutionalLayer::ConvolutionalLayer;

  [[nodiscard]] LayerValues Forward(const LayerValues& inputs) const override {
    return {convolutions_.Forward(inputs.main), {}};
  }
};

/// A decoder whose result corrects the flow that came in the last channels of its input.
class DecodeLayer final : public ConvolutionalLayer {
 public:
  using ConvolutionalLayer::ConvolutionalLayer;

  [[nodiscard]] LayerValues Forward(const LayerValues& inputs) const override {
    const at::Tensor flow =
        inputs.main.narrow(1, inputs.main.size(1) - kFlowChannels, kFlowChannels);
    return {flow + convolutions_.Forward(inputs.main), {}};
  }
};

/// The end of the finest decoder: corrects the flow that came by a skip, and enlarges it to the
/// picture's size.
class LastDecodeLayer final : public ConvolutionalLayer {
 public:
  using ConvolutionalLayer::ConvolutionalLayer;

  [[nodiscard]] LayerValues Forward(const LayerValues& inputs) const override {
    const at::Tensor& flow = inputs.skips[0];
    return {UpsampleFlow(flow + convolutions_.Forward(inputs.main), 4), {}};
  }
};

}  // namespace millrace::pipeline
