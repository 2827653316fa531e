#include "pipeline/ops/flow_terms.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "tests/pipeline/support/numeric_gradient.h"

namespace millrace::pipeline {
namespace {

constexpr int kHeight = 7;
constexpr int kWidth = 9;

at::Tensor RandomPicture() { return at::rand({1, 1, kHeight, kWidth}, at::kDouble); }
at::Tensor RandomFlow() { return at::randn({1, 2, kHeight, kWidth}, at::kDouble); }

// One value of a picture or flow; beyond its borders zero.
class Values {
 public:
  explicit Values(const at::Tensor& tensor, int channel = 0)
      : tensor_(tensor.detach().select(0, 0).select(0, channel).contiguous()) {}

  double operator()(int y, int x) const {
    if (y < 0 || y >= kHeight || x < 0 || x >= kWidth) return 0;
    return tensor_.const_data_ptr<double>()[y * kWidth + x];
  }

 private:
  const at::Tensor tensor_;
};

double Mean(int border, const std::function<double(int, int)>& of_pixel) {
  double sum = 0;
  for (int y = border; y < kHeight - border; ++y) {
    for (int x = border; x < kWidth - border; ++x) sum += of_pixel(y, x);
  }
  return sum / ((kHeight - 2 * border) * (kWidth - 2 * border));
}

TEST(FlowTermsTest, CensusDistanceIsThatOfItsDefinition) {
  const at::Tensor a = RandomPicture();
  const at::Tensor b = RandomPicture();
  const auto ternary = [](const Values& of, int y, int x, int dy, int dx) {
    const double d = 255 * (of(y + dy, x + dx) - of(y, x));
    return d / std::sqrt(0.81 + d * d);
  };
  const double expected = Mean(1, [&](int y, int x) {
    double sum = 0;
    for (int dy = -1; dy <= 1; ++dy) {
      for (int dx = -1; dx <= 1; ++dx) {
        const double s = ternary(Values(a), y, x, dy, dx) - ternary(Values(b), y, x, dy, dx);
        sum += s * s / (0.1 + s * s);
      }
    }
    return sum / 8;
  });
  EXPECT_NEAR(CensusDistance(a, b).mean().item<double>(), expected, 1e-9);
}

TEST(FlowTermsTest, CensusDoesNotSeeHowBrightAPictureIs) {
  const at::Tensor picture = RandomPicture();
  EXPECT_NEAR(CensusDistance(picture, picture + 0.3).mean().item<double>(), 0, 1e-9);
  EXPECT_GT(CensusDistance(picture, RandomPicture()).mean().item<double>(), 0.1);
}

TEST(FlowTermsTest, SsimDistanceIsThatOfItsDefinition) {
  const at::Tensor a = RandomPicture();
  const at::Tensor b = RandomPicture();
  // The mean of a 3x3 window.
  const auto mean = [](int y, int x, const std::function<double(int, int)>& of) {
    double sum = 0;
    for (int dy = -1; dy <= 1; ++dy) {
      for (int dx = -1; dx <= 1; ++dx) sum += of(y + dy, x + dx);
    }
    return sum / 9;
  };
  const Values va(a);
  const Values vb(b);
  const double expected = Mean(1, [&](int y, int x) {
    const double ma = mean(y, x, va);
    const double mb = mean(y, x, vb);
    const double aa = mean(y, x, [&](int i, int j) { return va(i, j) * va(i, j); }) - ma * ma;
    const double bb = mean(y, x, [&](int i, int j) { return vb(i, j) * vb(i, j); }) - mb * mb;
    const double ab = mean(y, x, [&](int i, int j) { return va(i, j) * vb(i, j); }) - ma * mb;
    const double ssim =
        (2 * ma * mb + 1e-4) * (2 * ab + 9e-4) / ((ma * ma + mb * mb + 1e-4) * (aa + bb + 9e-4));
    return std::clamp((1 - ssim) / 2, 0.0, 1.0);
  });
  EXPECT_NEAR(SsimDistance(a, b).mean().item<double>(), expected, 1e-9);
  EXPECT_NEAR(SsimDistance(a, a).mean().item<double>(), 0, 1e-9);
}

TEST(FlowTermsTest, QuadraticRoughnessIsThatOfItsDefinition) {
  const at::Tensor flow = RandomFlow();
  double expected = 0;
  for (int channel = 0; channel < 2; ++channel) {
    const Values f(flow, channel);
    expected += Mean(0, [&](int y, int x) {
      const double dx = (f(y, x + 1) - f(y, x) + f(y + 1, x + 1) - f(y + 1, x)) / 2;
      const double dy = (f(y + 1, x) - f(y, x) + f(y + 1, x + 1) - f(y, x + 1)) / 2;
      return dx * dx + dy * dy;
    });
  }
  EXPECT_NEAR(QuadraticRoughness(flow).item<double>(), expected / 2 / 2, 1e-9);
}

TEST(FlowTermsTest, InvarianceIsThatOfItsDefinition) {
  const at::Tensor previous = RandomPicture();
  const at::Tensor current = RandomPicture();
  const at::Tensor flow = RandomFlow();
  const Values before(previous);
  const Values now(current);
  const Values u(flow, 0);
  const Values v(flow, 1);
  const auto sum = [&](int y, int x) { return before(y, x) + now(y, x); };
  const auto step = [&](int y, int x) { return now(y, x) - before(y, x); };
  const double expected = Mean(0, [&](int y, int x) {
    const double ix = (sum(y, x + 1) - sum(y, x) + sum(y + 1, x + 1) - sum(y + 1, x)) / 4;
    const double iy = (sum(y + 1, x) - sum(y, x) + sum(y + 1, x + 1) - sum(y, x + 1)) / 4;
    const double it = (step(y, x) + step(y, x + 1) + step(y + 1, x) + step(y + 1, x + 1)) / 4;
    const double residual = ix * u(y, x) + iy * v(y, x) + it;
    return residual * residual;
  });
  EXPECT_NEAR(Invariance(previous, current, flow).item<double>(), expected / 2, 1e-9);
}

TEST(FlowTermsTest, GradientsEqualFiniteDifferences) {
  const at::Tensor other = RandomPicture();
  const auto expect = [](const char* name, const auto& term, const at::Tensor& point) {
    EXPECT_TRUE(
        at::allclose(AutogradGradient(term, point), NumericGradient(term, point), 1e-4, 1e-6))
        << name;
  };
  expect(
      "census", [&](const at::Tensor& x) { return CensusDistance(other, x).mean(); },
      RandomPicture());
  expect(
      "ssim", [&](const at::Tensor& x) { return SsimDistance(other, x).mean(); }, RandomPicture());
  expect(
      "quadratic", [](const at::Tensor& x) { return QuadraticRoughness(x); }, RandomFlow());
  expect(
      "edge-aware", [&](const at::Tensor& x) { return EdgeAwareRoughness(other, x); },
      RandomFlow());
  expect(
      "invariance", [&](const at::Tensor& x) { return Invariance(other, other * 0.9, x); },
      RandomFlow());
}

}  // namespace
}  // namespace millrace::pipeline
