#include "pipeline/scenes/generated_stream.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include "pipeline/ops/warp.h"

namespace millrace::pipeline {
namespace {

using Kind = GeneratedPair::Kind;
using Scenes = GeneratedStream::Scenes;

GeneratedStream::Options SmallScenes(std::uint64_t seed) {
  return {.width = 96, .height = 64, .seed = seed, .frames_per_scene = 6};
}

double Mean(const at::Tensor& values) { return values.to(at::kFloat).mean().item<double>(); }

double MeanMotion(const at::Tensor& flow) { return Mean(flow.square().sum(1).sqrt()); }

// CRC-32 as in ISO 3309.
class Checksum {
 public:
  void Add(std::span<const std::uint8_t> bytes) {
    crc_ = crc32_z(crc_, bytes.data(), bytes.size());
  }
  // In steps of 1/256 px, low byte first.
  void AddFlow(const at::Tensor& flow) {
    for (const float value : std::span(flow.const_data_ptr<float>(), flow.numel())) {
      const auto steps = static_cast<std::uint32_t>(std::lround(value * 256));
      std::array<std::uint8_t, 4> bytes = {};
      for (int i = 0; i < 4; ++i) bytes[i] = static_cast<std::uint8_t>(steps >> 8 * i);
      Add(bytes);
    }
  }
  [[nodiscard]] std::uint32_t value() const { return static_cast<std::uint32_t>(crc_); }

 private:
  uLong crc_ = 0;
};

struct Checksums {
  std::uint32_t pictures;
  std::uint32_t flow;
  std::uint32_t visible;

  bool operator==(const Checksums&) const = default;
  friend std::ostream& operator<<(std::ostream& out, const Checksums& sums) {
    return out << std::hex << "pictures 0x" << sums.pictures << ", flow 0x" << sums.flow
               << ", visible 0x" << sums.visible;
  }
};

// The sums over every n-th of the pairs.
Checksums SumUp(const GeneratedStream::Options& options, int pairs, int every = 1) {
  GeneratedStream stream(options);
  Checksum pictures;
  Checksum flow;
  Checksum visible;
  for (int i = 0; i < pairs; ++i) {
    const GeneratedPair pair = stream.Next();
    if (i % every != 0) continue;
    if (i == 0) pictures.Add(pair.previous_rgb);
    pictures.Add(pair.current_rgb);
    flow.AddFlow(pair.flow);
    visible.Add(std::span(pair.visible.const_data_ptr<std::uint8_t>(), pair.visible.numel()));
  }
  return {pictures.value(), flow.value(), visible.value()};
}

// Values that were measured on this stream do not hold for another one: after a change of the
// stream, measure them again.
TEST(GeneratedStreamTest, IsTheSameOnEveryMachine) {
  EXPECT_EQ(SumUp({.seed = 0}, 12), (Checksums{0xd2219d05, 0x5e01bf9b, 0xf34a6caf}));
  EXPECT_EQ(SumUp({.seed = 1, .frames_per_scene = 4, .cuts = true, .pause_every = 2}, 12),
            (Checksums{0xd1e96905, 0x5f558386, 0x8d17a422}));
  EXPECT_EQ(SumUp({.seed = 2, .scenes = Scenes::kVaried, .frames_per_scene = 4}, 12),
            (Checksums{0xe6d20167, 0xfd86bf95, 0x0b052bb9}));
}

// Those of docs/learning.md: the first of five streams as far as into its second scene, and the
// first pair of each.
TEST(GeneratedStreamTest, TheStreamsThatLearnersAreMeasuredOnStayAsTheyWere) {
  EXPECT_EQ(SumUp({.seed = 100}, 760, 50), (Checksums{0x0123b7f7, 0x00e10836, 0x68cfe4b9}));
  EXPECT_EQ(SumUp({.seed = 101}, 1), (Checksums{0xf92d8995, 0x478d0ed2, 0x082c07db}));
  EXPECT_EQ(SumUp({.seed = 102}, 1), (Checksums{0x854c0465, 0x59fe9bef, 0xe3dc3892}));
  EXPECT_EQ(SumUp({.seed = 103}, 1), (Checksums{0x9042fde8, 0xe7768770, 0x0901d153}));
  EXPECT_EQ(SumUp({.seed = 104}, 1), (Checksums{0x570efbd9, 0xcb7e9c2a, 0x95136609}));
}

TEST(GeneratedStreamTest, TruthExplainsAllThatIsVisible) {
  for (const Scenes scenes : {Scenes::kAlike, Scenes::kVaried}) {
    GeneratedStream stream(
        {.width = 96, .height = 64, .seed = 1, .scenes = scenes, .frames_per_scene = 6});
    double truth = 0;
    double no_motion = 0;
    double hidden = 0;
    for (int i = 0; i < 60; ++i) {
      const GeneratedPair pair = stream.Next();
      const at::Tensor previous = pair.pictures.narrow(0, 0, 1);
      const at::Tensor current = pair.pictures.narrow(0, 1, 1);
      const at::Tensor grid = LookUpGrid(pair.flow);
      const at::Tensor error = (previous - LookUp(current, grid)).abs();
      truth += Mean(error * pair.visible);
      no_motion += Mean((previous - current).abs() * pair.visible);
      hidden += Mean(error * InsideMask(grid) * (1 - pair.visible)) /
                std::max(Mean(InsideMask(grid) * (1 - pair.visible)), 1e-3);
    }
    // What is left is noise, and what two interpolations make of edges.
    EXPECT_LT(truth, 0.35 * no_motion);
    EXPECT_GT(hidden, 2 * truth);
  }
}

TEST(GeneratedStreamTest, NoMotionIsAsFarFromTheTruthAsItsSpeedSays) {
  for (const double speed : {1.0, 2.75}) {
    double sum = 0;
    constexpr int kPairs = 2000;
    for (int i = 0; i < 10; ++i) {
      GeneratedStream stream(
          {.width = 48, .height = 36, .seed = static_cast<std::uint64_t>(i), .speed = speed});
      for (int pair = 0; pair < kPairs / 10; ++pair) sum += MeanMotion(stream.Next().flow);
    }
    EXPECT_NEAR(sum / kPairs, speed, 0.1 * speed);
  }
}

TEST(GeneratedStreamTest, PicturesAreTheBytesAndContinue) {
  GeneratedStream stream(SmallScenes(2));
  at::Tensor last;
  for (int i = 0; i < 5; ++i) {  // The pairs of one scene.
    const GeneratedPair pair = stream.Next();
    EXPECT_EQ(pair.kind, Kind::kMotion);
    const float* pixel = pair.pictures.const_data_ptr<float>();
    for (const auto& rgb : {pair.previous_rgb, pair.current_rgb}) {
      ASSERT_EQ(rgb.size(), 96 * 64 * 3);
      for (std::size_t byte = 0; byte < rgb.size(); ++byte) {
        ASSERT_EQ(rgb[byte], std::lround(pixel[byte / 3] * 255));
      }
      pixel += 96 * 64;
    }
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
    EXPECT_TRUE(at::equal(pair.visible, twin.visible));
    EXPECT_FALSE(at::equal(pair.pictures, other.Next().pictures));
  }
}

TEST(GeneratedStreamTest, VariedScenesHaveStillCamerasAndMovingOnes) {
  GeneratedStream stream(
      {.width = 64, .height = 64, .seed = 5, .scenes = Scenes::kVaried, .frames_per_scene = 2});
  int still = 0;
  int moving = 0;
  for (int scene = 0; scene < 40; ++scene) {
    // A still camera leaves most of the picture without any motion at all.
    ++(Mean((stream.Next().flow == 0).all(1)) > 0.3 ? still : moving);
  }
  EXPECT_GT(still, 5);
  EXPECT_GT(moving, 5);
}

TEST(GeneratedStreamTest, CutIsAPairThatShowsNothingTwice) {
  GeneratedStream::Options options = SmallScenes(6);
  options.cuts = true;
  GeneratedStream stream(options);
  at::Tensor last;
  for (int i = 1; i <= 18; ++i) {
    const GeneratedPair pair = stream.Next();
    EXPECT_EQ(pair.kind, i % 6 == 0 ? Kind::kCut : Kind::kMotion) << i;
    if (pair.kind == Kind::kCut) {
      EXPECT_EQ(Mean(pair.visible), 0);
      EXPECT_EQ(MeanMotion(pair.flow), 0);
      EXPECT_GT(Mean((pair.pictures[0] - pair.pictures[1]).abs()), 0.05);
    } else {
      EXPECT_GT(Mean(pair.visible), 0.5);
    }
    if (last.defined()) {
      EXPECT_TRUE(at::equal(pair.pictures[0], last));
    }
    last = pair.pictures[1];
  }
}

TEST(GeneratedStreamTest, PauseShowsThePictureBeforeAgain) {
  GeneratedStream::Options options = SmallScenes(7);
  options.frames_per_scene = 100;
  options.pause_every = 3;
  options.pause_pairs = 2;
  GeneratedStream stream(options);
  for (int i = 0; i < 20; ++i) {
    const GeneratedPair pair = stream.Next();
    const bool pause = i % 5 >= 3;
    EXPECT_EQ(pair.kind, pause ? Kind::kPause : Kind::kMotion) << i;
    EXPECT_EQ(at::equal(pair.pictures[0], pair.pictures[1]), pause);
    EXPECT_EQ(MeanMotion(pair.flow) == 0, pause);
    if (pause) {
      EXPECT_EQ(Mean(pair.visible), 1);
    }
  }
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
