#include "pipeline/ops/flow_terms.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/im2col.h>

namespace millrace::pipeline {
namespace {

constexpr int kWindow = 3;
constexpr int kNeighbours = kWindow * kWindow;

// For the census transform.
constexpr double kGreyLevels = 255;
constexpr double kTernarySoftness = 0.81;
constexpr double kDistanceSoftness = 0.1;

// For structural similarity, with values in 0..1.
constexpr double kLuminanceFloor = 0.01 * 0.01;
constexpr double kContrastFloor = 0.03 * 0.03;

// Differences of neighbours along one dimension.
at::Tensor Steps(const at::Tensor& values, int dimension) {
  const std::int64_t count = values.size(dimension) - 1;
  return values.narrow(dimension, 1, count) - values.narrow(dimension, 0, count);
}

// The differences of each pixel's neighbours from it, in about -1..1: [n, channels, 9, pixels].
at::Tensor TernaryCensus(const at::Tensor& picture) {
  const at::Tensor windows = at::im2col(picture * kGreyLevels, {kWindow, kWindow},
                                        /*dilation=*/{1, 1}, /*padding=*/{0, 0}, /*stride=*/{1, 1});
  const at::Tensor by_neighbour =
      windows.view({picture.size(0), picture.size(1), kNeighbours, windows.size(2)});
  const at::Tensor steps = by_neighbour - by_neighbour.narrow(2, kNeighbours / 2, 1);
  return steps / (steps.square() + kTernarySoftness).sqrt();
}

at::Tensor WindowMean(const at::Tensor& values) {
  return at::avg_pool2d(values, {kWindow, kWindow}, /*stride=*/{1, 1});
}

// The derivative over the 2x2 cube: the step along one dimension, summed along the other. Values
// beyond the picture are zero.
at::Tensor StepOver2x2(const at::Tensor& values, int dimension) {
  const at::Tensor padded = at::constant_pad_nd(values, {0, 1, 0, 1});
  const int other = dimension == 2 ? 3 : 2;
  const at::Tensor steps = Steps(padded, dimension);
  const std::int64_t count = values.size(other);
  return steps.narrow(other, 0, count) + steps.narrow(other, 1, count);
}

at::Tensor SumOver2x2(const at::Tensor& values) {
  const std::int64_t height = values.size(2);
  const std::int64_t width = values.size(3);
  const at::Tensor padded = at::constant_pad_nd(values, {0, 1, 0, 1});
  const at::Tensor rows = padded.narrow(2, 0, height) + padded.narrow(2, 1, height);
  return rows.narrow(3, 0, width) + rows.narrow(3, 1, width);
}

}  // namespace

at::Tensor Charbonnier(const at::Tensor& difference) {
  return (difference.square() + kCharbonnierEpsilon * kCharbonnierEpsilon).sqrt();
}

at::Tensor CensusDistance(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor squares = (TernaryCensus(a) - TernaryCensus(b)).square();
  // The pixel itself is among the nine and always differs by zero.
  const at::Tensor distance =
      (squares / (squares + kDistanceSoftness)).sum(2) / static_cast<double>(kNeighbours - 1);
  return distance.view({a.size(0), a.size(1), a.size(2) - 2, a.size(3) - 2});
}

at::Tensor SsimDistance(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor mean_a = WindowMean(a);
  const at::Tensor mean_b = WindowMean(b);
  const at::Tensor variance_a = WindowMean(a.square()) - mean_a.square();
  const at::Tensor variance_b = WindowMean(b.square()) - mean_b.square();
  const at::Tensor covariance = WindowMean(a * b) - mean_a * mean_b;
  const at::Tensor luminance = (2 * mean_a * mean_b + kLuminanceFloor) /
                               (mean_a.square() + mean_b.square() + kLuminanceFloor);
  const at::Tensor structure =
      (2 * covariance + kContrastFloor) / (variance_a + variance_b + kContrastFloor);
  return ((1 - luminance * structure) / 2).clamp(0, 1);
}

at::Tensor EdgeAwareRoughness(const at::Tensor& picture, const at::Tensor& flow) {
  const auto along = [&](int dimension) {
    const at::Tensor step = Steps(picture, dimension).abs().mean(1, /*keepdim=*/true);
    const at::Tensor weight = (step * -kEdgeSharpness).exp();
    return (weight * Charbonnier(Steps(flow, dimension))).mean();
  };
  return along(2) + along(3);
}

at::Tensor QuadraticRoughness(const at::Tensor& flow) {
  const auto square = [&](int dimension) { return (StepOver2x2(flow, dimension) / 2).square(); };
  return (square(2) + square(3)).mean() / 2;
}

at::Tensor Invariance(const at::Tensor& previous, const at::Tensor& current,
                      const at::Tensor& flow) {
  const at::Tensor both = previous + current;
  const at::Tensor dx = StepOver2x2(both, 3) / 4;
  const at::Tensor dy = StepOver2x2(both, 2) / 4;
  const at::Tensor dt = SumOver2x2(current - previous) / 4;
  return (dx * flow.narrow(1, 0, 1) + dy * flow.narrow(1, 1, 1) + dt).square().mean() / 2;
}

}  // namespace millrace::pipeline
