#include "pipeline/generated_stream.h"

#include <algorithm>

#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include "pipeline/flow_loss.h"

namespace millrace::pipeline {
namespace {

GeneratedStream::Options SmallScenes(std::uint64_t seed) {
  return {.width = 96, .height = 64, .seed = seed, .frames_per_scene = 6};
}

TEST(GeneratedStreamTest, TruthExplainsThePicturesFarBetterThanNoMotion) {
  GeneratedStream stream(SmallScenes(1));
  double truth = 0;
  double no_motion = 0;
  for (int i = 0; i < 60; ++i) {
    const GeneratedPair pair = stream.Next();
    const FlowLoss loss = ComputeFlowLoss(pair.pictures, pair.flow, {.smoothness = 0});
    truth += loss.photometric.item<double>();
    no_motion += loss.no_motion.item<double>();
  }
  // What is left is noise, what things uncover, and what leaves the picture.
  EXPECT_LT(truth, 0.4 * no_motion);
}

TEST(GeneratedStreamTest, PicturesLieInZeroToOneAndContinue) {
  GeneratedStream stream(SmallScenes(2));
  at::Tensor last;
  for (int i = 0; i < 5; ++i) {  // The pairs of one scene.
    const GeneratedPair pair = stream.Next();
    EXPECT_GE(pair.pictures.min().item<float>(), 0);
    EXPECT_LE(pair.pictures.max().item<float>(), 1);
    if (last.defined()) {
      EXPECT_TRUE(at::equal(pair.pictures[0], last));
    }
    last = pair.pictures[1];
  }
  EXPECT_FALSE(at::equal(stream.Next().pictures[0], last)) << "a pair spans two scenes";
}

TEST(GeneratedStreamTest, SeedDecidesEveryValue) {
  GeneratedStream one(SmallScenes(3));
  GeneratedStream same(SmallScenes(3));
  GeneratedStream other(SmallScenes(4));
  for (int i = 0; i < 8; ++i) {
    const GeneratedPair pair = one.Next();
    const GeneratedPair twin = same.Next();
    EXPECT_TRUE(at::equal(pair.pictures, twin.pictures));
    EXPECT_TRUE(at::equal(pair.flow, twin.flow));
    EXPECT_FALSE(at::equal(pair.pictures, other.Next().pictures));
  }
}

TEST(GeneratedStreamTest, HasScenesWithAStillCameraAndScenesWithAMovingOne) {
  GeneratedStream stream({.width = 64, .height = 64, .seed = 5, .frames_per_scene = 2});
  int still = 0;
  int moving = 0;
  for (int scene = 0; scene < 40; ++scene) {
    const at::Tensor flow = stream.Next().flow;
    // A still camera leaves most of the picture without any motion at all.
    const double share_at_rest = (flow == 0).all(1).to(at::kFloat).mean().item<double>();
    ++(share_at_rest > 0.3 ? still : moving);
  }
  EXPECT_GT(still, 5);
  EXPECT_GT(moving, 5);
}

TEST(GeneratedStreamTest, MotionIsFiniteAndOfACamerasSize) {
  GeneratedStream stream(SmallScenes(6));
  for (int i = 0; i < 100; ++i) {
    const at::Tensor flow = stream.Next().flow;
    ASSERT_TRUE(flow.isfinite().all().item<bool>());
    ASSERT_LT(flow.abs().max().item<float>(), 40);
  }
}

}  // namespace
}  // namespace millrace::pipeline
