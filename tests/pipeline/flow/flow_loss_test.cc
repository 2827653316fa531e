#include "pipeline/flow/flow_loss.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "pipeline/ops/flow_terms.h"
#include "tests/pipeline/support/numeric_gradient.h"

namespace millrace::pipeline {
namespace {

constexpr int kHeight = 12;
constexpr int kWidth = 16;
constexpr double kAtRest = 1e-3;  // What a pixel costs that is explained without error.

at::Tensor ConstantFlow(double dx, double dy) {
  return at::stack({at::full({kHeight, kWidth}, dx, at::kDouble),
                    at::full({kHeight, kWidth}, dy, at::kDouble)})
      .unsqueeze(0);
}

at::Tensor RandomPictures() { return at::rand({2, 1, kHeight, kWidth}, at::kDouble); }

TEST(FlowLossTest, TrueTranslationExplainsEveryPixelThatStaysInThePicture) {
  // Things move two pixels to the right and one up.
  const at::Tensor wide = at::rand({1, 1, kHeight + 1, kWidth + 2}, at::kDouble);
  const at::Tensor previous = wide.narrow(2, 0, kHeight).narrow(3, 2, kWidth);
  const at::Tensor current = wide.narrow(2, 1, kHeight).narrow(3, 0, kWidth);
  const at::Tensor pictures = at::cat({previous, current}, 0);
  const FlowLoss loss = ComputeFlowLoss(pictures, ConstantFlow(2, -1), {.smoothness = 0});

  // The rest, the right two columns and the top row, cost what no motion costs there.
  const at::Tensor at_rest = ((previous - current).square() + 1e-6).sqrt();
  at::Tensor expected = at_rest.clone();
  expected.narrow(2, 1, kHeight - 1).narrow(3, 0, kWidth - 2).fill_(kAtRest);
  EXPECT_NEAR(loss.photometric.item<double>(), expected.mean().item<double>(), 1e-9);
  EXPECT_NEAR(loss.no_motion.item<double>(), at_rest.mean().item<double>(), 1e-9);
}

TEST(FlowLossTest, NoMotionCostsOneOfItself) {
  const FlowLoss loss = ComputeFlowLoss(RandomPictures(), ConstantFlow(0, 0), {.smoothness = 0});
  EXPECT_NEAR(loss.objective.item<double>(), 1, 1e-9);
  EXPECT_NEAR(loss.photometric.item<double>(), loss.no_motion.item<double>(), 1e-9);
}

TEST(FlowLossTest, BrightnessRangeOfThePicturesDoesNotChangeTheObjective) {
  const at::Tensor pictures = RandomPictures();
  const at::Tensor flow = at::randn({1, 2, kHeight, kWidth}, at::kDouble);
  const double bright = ComputeFlowLoss(pictures, flow, {.smoothness = 0}).objective.item<double>();
  const double dark =
      ComputeFlowLoss(pictures * 0.1, flow, {.smoothness = 0}).objective.item<double>();
  EXPECT_NEAR(dark, bright, 0.01 * bright);
}

TEST(FlowLossTest, GradientEqualsFiniteDifferences) {
  const at::Tensor pictures = RandomPictures();
  const at::Tensor flow = at::randn({1, 2, kHeight, kWidth}, at::kDouble);
  const auto objective = [&](const at::Tensor& x) {
    return ComputeFlowLoss(pictures, x, {.smoothness = 0.1}).objective;
  };
  EXPECT_TRUE(at::allclose(AutogradGradient(objective, flow), NumericGradient(objective, flow),
                           1e-4, 1e-6));
}

TEST(FlowLossTest, PixelThatPointsOutsideHasNoGradientOfTheData) {
  at::Tensor flow = ConstantFlow(0.3, 0.3);
  flow.select(1, 0).select(2, kWidth - 1).fill_(0.5);  // The last column points out.
  const at::Tensor pictures = RandomPictures();
  for (const char* name : {"relative", "census", "ssim"}) {
    const FlowLossOptions options{.kind = *FlowLossKind(name), .smoothness = 0};
    const at::Tensor gradient = AutogradGradient(
        [&](const at::Tensor& x) { return ComputeFlowLoss(pictures, x, options).objective; }, flow);
    EXPECT_EQ(gradient.select(3, kWidth - 1).abs().max().item<double>(), 0) << name;
    EXPECT_GT(gradient.select(3, 2).abs().max().item<double>(), 0) << name;
  }
}

// A window that reaches beyond the picture would compare the picture with nothing.
TEST(FlowLossTest, TheRimOfAPanCostsWhatNoMotionCosts) {
  const at::Tensor wide = at::rand({1, 1, kHeight, kWidth + 2}, at::kDouble);
  const at::Tensor pictures = at::cat({wide.narrow(3, 2, kWidth), wide.narrow(3, 0, kWidth)}, 0);
  const at::Tensor at_rest = CensusDistance(wide.narrow(3, 2, kWidth), wide.narrow(3, 0, kWidth));
  // Windows around the last three columns that can be judged reach the two that point out.
  const double expected =
      at_rest.narrow(3, kWidth - 4, 2).sum().item<double>() / static_cast<double>(at_rest.numel());
  const FlowLoss loss = ComputeFlowLoss(pictures, ConstantFlow(2, 0),
                                        {.kind = FlowLossOptions::Kind::kCensus, .smoothness = 0});
  EXPECT_NEAR(loss.terms[0].value.item<double>(), expected, 1e-9);
}

// Each name selects its own objective: the data by the terms' own functions.
TEST(FlowLossTest, EachNameSelectsItsObjective) {
  const at::Tensor pictures = RandomPictures();
  const at::Tensor previous = pictures.narrow(0, 0, 1);
  const at::Tensor current = pictures.narrow(0, 1, 1);
  const at::Tensor still = ConstantFlow(0, 0);
  const auto data = [&](const char* name) {
    return ComputeFlowLoss(pictures, still, {.kind = *FlowLossKind(name), .smoothness = 0})
        .terms[0]
        .value.item<double>();
  };
  const double photometric = Charbonnier(previous - current).mean().item<double>();
  EXPECT_NEAR(data("relative"), photometric, 1e-9);
  EXPECT_NEAR(data("photo_and_smooth"), photometric, 1e-9);
  EXPECT_NEAR(data("census"), CensusDistance(previous, current).mean().item<double>(), 1e-9);
  EXPECT_NEAR(data("ssim"), SsimDistance(previous, current).mean().item<double>(), 1e-9);
  EXPECT_NEAR(data("hs"), Invariance(previous, current, still).item<double>(), 1e-9);
  EXPECT_EQ(FlowLossTerms({.kind = *FlowLossKind("census")}),
            (std::vector<std::string_view>{"census", "smoothness"}));
  EXPECT_EQ(FlowLossTerms({.kind = *FlowLossKind("ssim"), .occlusion = true}),
            (std::vector<std::string_view>{"ssim", "smoothness", "photometric", "occluded"}));
  EXPECT_EQ(FlowLossTerms({.kind = *FlowLossKind("hs")}),
            (std::vector<std::string_view>{"invariance", "smoothness"}));
}

TEST(FlowLossTest, FlowFarOutsideIsFiniteAndWinsNothing) {
  const at::Tensor pictures = RandomPictures();
  for (const double far : {1e3, -1e6, 1e30}) {
    const at::Tensor flow = ConstantFlow(far, -far);
    const FlowLoss loss = ComputeFlowLoss(pictures, flow, {.smoothness = 0.1});
    EXPECT_NEAR(loss.photometric.item<double>(), loss.no_motion.item<double>(), 1e-9);
    EXPECT_TRUE(loss.objective.isfinite().item<bool>());
    const at::Tensor gradient = AutogradGradient(
        [&](const at::Tensor& x) {
          return ComputeFlowLoss(pictures, x, {.smoothness = 0.1}).objective;
        },
        flow);
    EXPECT_TRUE(gradient.isfinite().all().item<bool>());
  }
}

TEST(FlowLossTest, EqualPicturesHaveAFiniteLossThatIsLeastWithoutMotion) {
  const at::Tensor picture = at::rand({1, 1, kHeight, kWidth}, at::kDouble);
  const at::Tensor pictures = at::cat({picture, picture}, 0);
  const FlowLoss still = ComputeFlowLoss(pictures, ConstantFlow(0, 0), {.smoothness = 0});
  EXPECT_NEAR(still.no_motion.item<double>(), kAtRest, 1e-12);
  EXPECT_NEAR(still.objective.item<double>(), 1, 1e-6);
  EXPECT_GT(
      ComputeFlowLoss(pictures, ConstantFlow(1, 0), {.smoothness = 0}).objective.item<double>(),
      10);
}

TEST(FlowLossTest, FlowThatIsNotFiniteMakesAnObjectiveThatIsNot) {
  at::Tensor flow = ConstantFlow(0, 0);
  flow.select(1, 0).select(1, 5).fill_(std::numeric_limits<double>::quiet_NaN());
  const FlowLoss loss = ComputeFlowLoss(RandomPictures(), flow, {.smoothness = 0.1});
  EXPECT_FALSE(loss.objective.isfinite().item<bool>());
}

// Every objective there is, and the flow's samples that it takes.
std::vector<FlowLossOptions> AllObjectives() {
  std::vector<FlowLossOptions> all;
  for (const std::string& name : FlowLossNames()) {
    for (const bool occlusion : {false, true}) {
      all.push_back({.kind = *FlowLossKind(name), .smoothness = 0.1, .occlusion = occlusion});
    }
  }
  return all;
}

at::Tensor RandomFlow(const FlowLossOptions& options) {
  return at::randn({options.occlusion ? 2 : 1, 2, kHeight, kWidth}, at::kDouble);
}

TEST(FlowLossTest, GradientOfEveryObjectiveEqualsFiniteDifferences) {
  for (const FlowLossOptions& options : AllObjectives()) {
    const int channels = options.occlusion ? 1 : 3;
    const at::Tensor pictures = at::rand({2, channels, kHeight, kWidth}, at::kDouble);
    const at::Tensor flow = RandomFlow(options);
    const auto objective = [&](const at::Tensor& x) {
      return ComputeFlowLoss(pictures, x, options).objective;
    };
    EXPECT_TRUE(at::allclose(AutogradGradient(objective, flow), NumericGradient(objective, flow),
                             1e-4, 1e-6))
        << FlowLossTerms(options).front() << (options.occlusion ? ", occlusion" : "");
  }
}

TEST(FlowLossTest, TermsAreNamedAndWeighedAsTheObjectiveSays) {
  for (const FlowLossOptions& options : AllObjectives()) {
    const at::Tensor pictures = RandomPictures();
    const at::Tensor flow = RandomFlow(options);
    const FlowLoss loss = ComputeFlowLoss(pictures, flow, options);
    const std::vector<std::string_view> names = FlowLossTerms(options);
    ASSERT_EQ(loss.terms.size(), names.size());
    for (std::size_t i = 0; i < names.size(); ++i) EXPECT_EQ(loss.terms[i].name, names[i]);
    FlowLossOptions smoother = options;
    smoother.smoothness += 1;
    const FlowLoss twice = ComputeFlowLoss(pictures, flow, smoother);
    EXPECT_NEAR((twice.objective - loss.objective).item<double>(),
                loss.terms[1].value.item<double>(), 1e-9)
        << names[1];
  }
}

TEST(FlowLossTest, ScoreIsTheSameUnderEveryObjective) {
  const at::Tensor pictures = RandomPictures();
  const at::Tensor flow = at::randn({2, 2, kHeight, kWidth}, at::kDouble);
  const FlowLoss expected = ComputeFlowLoss(pictures, flow.narrow(0, 0, 1), {});
  for (const FlowLossOptions& options : AllObjectives()) {
    const FlowLoss loss =
        ComputeFlowLoss(pictures, options.occlusion ? flow : flow.narrow(0, 0, 1), options);
    EXPECT_NEAR(loss.photometric.item<double>(), expected.photometric.item<double>(), 1e-12);
    EXPECT_NEAR(loss.no_motion.item<double>(), expected.no_motion.item<double>(), 1e-12);
  }
}

// The published form, pixel by pixel: what lies outside the picture is its border.
TEST(FlowLossTest, PhotoAndSmoothIsThatOfItsDefinition) {
  const at::Tensor pictures = RandomPictures();
  const at::Tensor flow = at::randn({1, 2, kHeight, kWidth}, at::kDouble) * 3;
  const auto value = [](const at::Tensor& of, int y, int x) {
    return of.select(0, y).select(0, x).item<double>();
  };
  const at::Tensor before = pictures.select(0, 0).select(0, 0);
  const at::Tensor now = pictures.select(0, 1).select(0, 0);
  double sum = 0;
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      const double at_x =
          std::clamp(x + value(flow.select(0, 0).select(0, 0), y, x), 0.0, kWidth - 1.0);
      const double at_y =
          std::clamp(y + value(flow.select(0, 0).select(0, 1), y, x), 0.0, kHeight - 1.0);
      const int left = std::min(static_cast<int>(at_x), kWidth - 2);
      const int top = std::min(static_cast<int>(at_y), kHeight - 2);
      const double right_share = at_x - left;
      const double bottom_share = at_y - top;
      const double seen = (1 - bottom_share) * ((1 - right_share) * value(now, top, left) +
                                                right_share * value(now, top, left + 1)) +
                          bottom_share * ((1 - right_share) * value(now, top + 1, left) +
                                          right_share * value(now, top + 1, left + 1));
      const double difference = value(before, y, x) - seen;
      sum += std::sqrt(difference * difference + 1e-6);
    }
  }
  const FlowLoss loss = ComputeFlowLoss(
      pictures, flow, {.kind = FlowLossOptions::Kind::kPhotoAndSmooth, .smoothness = 0});
  EXPECT_NEAR(loss.objective.item<double>(), sum / (kHeight * kWidth), 1e-9);
}

TEST(FlowLossTest, HiddenPixelsTeachNothing) {
  // A block of noise goes four pixels to the right before a wall of noise.
  constexpr int kShift = 4;
  at::Tensor pictures = at::rand({1, 1, kHeight, kWidth}, at::kDouble).repeat({2, 1, 1, 1});
  const at::Tensor block = at::rand({kHeight, 6}, at::kDouble);
  pictures.select(0, 0).select(0, 0).narrow(1, 2, 6).copy_(block);
  pictures.select(0, 1).select(0, 0).narrow(1, 2 + kShift, 6).copy_(block);
  at::Tensor flow = at::zeros({2, 2, kHeight, kWidth}, at::kDouble);
  flow.select(0, 0).select(0, 0).narrow(1, 2, 6).fill_(kShift);
  flow.select(0, 1).select(0, 0).narrow(1, 2 + kShift, 6).fill_(-kShift);
  const FlowLossOptions options{.smoothness = 0, .occlusion = true};
  const at::Tensor gradient = AutogradGradient(
      [&](const at::Tensor& x) { return ComputeFlowLoss(pictures, x, options).objective; },
      flow + 0.01);
  // In the first picture, what the block is about to cover.
  EXPECT_EQ(gradient.select(0, 0).narrow(2, 8, kShift).abs().max().item<double>(), 0);
  EXPECT_GT(gradient.select(0, 0).narrow(2, 2, 6).abs().max().item<double>(), 0);
  const FlowLoss loss = ComputeFlowLoss(pictures, flow, options);
  EXPECT_NEAR(loss.terms.back().value.item<double>(), static_cast<double>(kShift) / kWidth, 1e-9);
}

TEST(FlowLossTest, EveryObjectiveIsFiniteForEqualPicturesAndFlowFarOutside) {
  const at::Tensor picture = at::rand({1, 1, kHeight, kWidth}, at::kDouble);
  for (FlowLossOptions options : AllObjectives()) {
    const at::Tensor flow = RandomFlow(options) * 1e3;
    const at::Tensor gradient = AutogradGradient(
        [&](const at::Tensor& x) {
          return ComputeFlowLoss(at::cat({picture, picture}, 0), x, options).objective;
        },
        flow);
    EXPECT_TRUE(gradient.isfinite().all().item<bool>()) << FlowLossTerms(options).front();
  }
}

TEST(FlowLossTest, StepOfTheFlowCostsLessAtAnEdgeOfThePicture) {
  at::Tensor edge = at::zeros({2, 1, kHeight, kWidth}, at::kDouble);
  edge.narrow(3, kWidth / 2, kWidth / 2).fill_(1);
  const at::Tensor flat = at::zeros({2, 1, kHeight, kWidth}, at::kDouble);
  at::Tensor flow = ConstantFlow(0, 0);
  flow.select(1, 1).narrow(2, kWidth / 2, kWidth / 2).fill_(0.5);  // Along the edge.
  const auto roughness = [&](const at::Tensor& pictures) {
    return (ComputeFlowLoss(pictures, flow, {.smoothness = 1}).objective -
            ComputeFlowLoss(pictures, flow, {.smoothness = 0}).objective)
        .item<double>();
  };
  EXPECT_GT(roughness(flat), 5 * roughness(edge));
}

}  // namespace
}  // namespace millrace::pipeline
