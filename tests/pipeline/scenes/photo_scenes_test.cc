#include "pipeline/scenes/photo_scenes.h"

#include <algorithm>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "pipeline/ops/warp.h"
#include "pipeline/scenes/texture.h"

namespace millrace::pipeline {
namespace {

constexpr int kWidth = 128;
constexpr int kHeight = 96;

// Generated pictures serve as photographs.
std::vector<Photograph> Photographs() {
  std::vector<Photograph> all;
  for (int i = 0; i < 4; ++i) {
    Random random(i);
    Photograph one{.width = 200 + 60 * i, .height = 180, .grey = {}};
    const Texture texture({.width = one.width, .height = one.height}, random);
    for (int y = 0; y < one.height; ++y) {
      for (int x = 0; x < one.width; ++x) {
        const float value = std::clamp(texture.At({double(x), double(y)}), 0.0F, 1.0F);
        one.grey.push_back(static_cast<std::uint8_t>(255 * value));
      }
    }
    all.push_back(std::move(one));
  }
  return all;
}

PhotoScenes Scenes(std::uint64_t seed) {
  return PhotoScenes({.width = kWidth, .height = kHeight, .seed = seed}, Photographs());
}

double MeanDifference(const at::Tensor& a, const at::Tensor& b, const at::Tensor& where) {
  return ((a - b).abs() * where).sum().item<double>() / where.sum().item<double>();
}

TEST(PhotoScenesTest, APairDependsOnItsNumberAndTheSeedAlone) {
  const PhotoScenes scenes = Scenes(1);
  const GeneratedPair third = scenes.Make(3);
  const GeneratedPair fourth = scenes.Make(4);
  const GeneratedPair again = Scenes(1).Make(3);
  EXPECT_TRUE(at::equal(third.pictures, again.pictures));
  EXPECT_TRUE(at::equal(third.flow, again.flow));
  EXPECT_FALSE(at::equal(third.pictures, fourth.pictures));
  EXPECT_FALSE(at::equal(third.pictures, Scenes(2).Make(3).pictures));
}

TEST(PhotoScenesTest, TheFlowLeadsFromEachVisiblePixelToWhatItShows) {
  const PhotoScenes scenes = Scenes(5);
  double by_flow = 0;
  double by_none = 0;
  for (int i = 0; i < 40; ++i) {
    const GeneratedPair pair = scenes.Make(i);
    const at::Tensor visible = pair.visible.to(at::kFloat);
    const at::Tensor previous = pair.pictures.narrow(0, 0, 1);
    const at::Tensor current = pair.pictures.narrow(0, 1, 1);
    by_flow += MeanDifference(previous, LookUpHeld(current, LookUpGrid(pair.flow)), visible);
    by_none += MeanDifference(previous, current, visible);
  }
  // The rest is noise, exposure and soft edges.
  EXPECT_LT(by_flow, 0.5 * by_none);
}

TEST(PhotoScenesTest, SomeCamerasStandStillAndSomeThingsGetHidden) {
  const PhotoScenes scenes = Scenes(7);
  int still = 0;
  int hidden = 0;
  int fast = 0;
  for (int i = 0; i < 60; ++i) {
    const GeneratedPair pair = scenes.Make(i);
    const at::Tensor length = pair.flow.square().sum(1).sqrt();
    if ((length == 0).sum().item<int>() > kWidth * kHeight / 4) ++still;
    if (length.max().item<double>() > 3) ++fast;
    if (pair.visible.sum().item<int>() < kWidth * kHeight) ++hidden;
  }
  EXPECT_GT(still, 10);
  EXPECT_LT(still, 50);
  EXPECT_GT(fast, 5);
  EXPECT_GT(hidden, 30);
}

TEST(PhotoScenesTest, ThePicturesOfACameraAreThoseOfTheTensor) {
  const GeneratedPair pair = Scenes(1).Make(0);
  const float* grey = pair.pictures.const_data_ptr<float>();
  for (const auto* rgb : {&pair.previous_rgb, &pair.current_rgb}) {
    ASSERT_EQ(rgb->size(), 3U * kWidth * kHeight);
    for (std::size_t i = 0; i < rgb->size(); i += 3) EXPECT_EQ(*grey++, (*rgb)[i] / 255.0F);
  }
}

}  // namespace
}  // namespace millrace::pipeline
