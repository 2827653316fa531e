#include "pipeline/ops/relative_loss.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include "tests/pipeline/support/numeric_gradient.h"
#include "tests/pipeline/support/plain_flow.h"

namespace millrace::pipeline {
namespace {

TEST(RelativeLossTest, EqualsLibTorchsOperatorsThereAndBack) {
  for (const int samples : {1, 2}) {
    for (const int channels : {1, 3}) {
      const at::Tensor pictures = at::rand({2, channels, 11, 17}, at::kDouble);
      const at::Tensor flow = at::randn({samples, 2, 11, 17}, at::kDouble) * 2;
      const at::Tensor visible =
          samples == 2 ? at::rand({2, 1, 11, 17}, at::kDouble) > 0.3 : at::Tensor();
      const auto ours = [&](const at::Tensor& x) {
        return ComputeRelativeLoss(pictures, x, visible, 0.1).objective;
      };
      const auto plain = [&](const at::Tensor& x) {
        return plain::RelativeObjective(pictures, x, visible, 0.1);
      };
      EXPECT_TRUE(at::allclose(ours(flow), plain(flow), 1e-10));
      EXPECT_TRUE(
          at::allclose(AutogradGradient(ours, flow), AutogradGradient(plain, flow), 1e-8, 1e-12));
    }
  }
}

TEST(RelativeLossTest, InSinglePrecisionItIsTheSameToRounding) {
  const at::Tensor pictures = at::rand({2, 1, 48, 64});
  const at::Tensor flow = at::randn({1, 2, 48, 64});
  const auto gradient = [&](at::ScalarType type) {
    return AutogradGradient(
        [&](const at::Tensor& x) {
          return ComputeRelativeLoss(pictures.to(type), x, {}, 0.1).objective;
        },
        flow.to(type));
  };
  EXPECT_TRUE(
      at::allclose(gradient(at::kFloat).to(at::kDouble), gradient(at::kDouble), 1e-3, 1e-6));
}

TEST(RelativeLossTest, LayoutChangesNoBit) {
  const at::Tensor pictures = at::rand({2, 3, 12, 16});
  const at::Tensor flow = at::randn({1, 2, 12, 16});
  const auto layout = at::MemoryFormat::ChannelsLast;
  const RelativeLoss one = ComputeRelativeLoss(pictures, flow, {}, 0.1);
  const RelativeLoss two =
      ComputeRelativeLoss(pictures.contiguous(layout), flow.contiguous(layout), {}, 0.1);
  EXPECT_TRUE(at::equal(one.objective, two.objective));
}

TEST(RelativeLossTest, APictureOfOneRowOrColumnIsFinite) {
  for (const std::int64_t height : {1, 5}) {
    const std::int64_t width = 6 - height;
    const at::Tensor pictures = at::rand({2, 1, height, width});
    const at::Tensor gradient = AutogradGradient(
        [&](const at::Tensor& x) { return ComputeRelativeLoss(pictures, x, {}, 0.1).objective; },
        at::randn({1, 2, height, width}));
    EXPECT_TRUE(gradient.isfinite().all().item<bool>());
  }
}

}  // namespace
}  // namespace millrace::pipeline
