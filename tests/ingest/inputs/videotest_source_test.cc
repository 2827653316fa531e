#include <gtest/gtest.h>

#include "ingest/inputs/open_source.h"
#include "tests/ingest/support/media.h"

namespace millrace::ingest {
namespace {

std::unique_ptr<Source> Open(const SourceOptions& options) {
  absl::StatusOr<std::unique_ptr<Source>> source = OpenSource(options);
  EXPECT_TRUE(source.ok()) << source.status();
  return source.ok() ? *std::move(source) : nullptr;
}

/// Whether the pixel is within 8 levels of the colour: limited-range YUV lies in between.
testing::AssertionResult IsColour(const Picture& picture, int x, int y, const int (&rgb)[3]) {
  const std::size_t at = (static_cast<std::size_t>(y) * picture.width + x) * 3;
  for (std::size_t i = 0; i < 3; ++i) {
    if (std::abs(picture.rgb.at(at + i) - rgb[i]) > 8) {
      return testing::AssertionFailure()
             << "channel " << i << " at " << x << ", " << y << " is " << int{picture.rgb[at + i]};
    }
  }
  return testing::AssertionSuccess();
}

TEST(TestPictureTest, HasTheColoursOfItsPatternInRedGreenBlueOrder) {
  const struct {
    const char* uri;
    int rgb[3];
  } solids[] = {{"test:red", {255, 0, 0}},
                {"test:green", {0, 255, 0}},
                {"test:blue", {0, 0, 255}},
                {"test:white", {255, 255, 255}},
                {"test:black", {0, 0, 0}}};
  for (const auto& solid : solids) {
    const auto source = Open({.uri = solid.uri, .width = 101, .height = 77});
    const Frame frame = source->queue().Pop().value();
    ASSERT_EQ(frame.picture->width, 101);
    ASSERT_EQ(frame.picture->height, 77);
    ASSERT_EQ(frame.picture->rgb.size(), 101u * 77 * 3);
    EXPECT_TRUE(IsColour(*frame.picture, 0, 0, solid.rgb)) << solid.uri;
    EXPECT_TRUE(IsColour(*frame.picture, 100, 76, solid.rgb)) << solid.uri;
  }
}

// An odd width has rows that GStreamer pads: copied with the padding, the bars would lean.
TEST(TestPictureTest, KeepsItsBarsUpright) {
  const auto source = Open({.uri = "test:smpte100", .width = 301, .height = 200});
  const Frame frame = source->queue().Pop().value();
  const int bars[7][3] = {{255, 255, 255}, {255, 255, 0}, {0, 255, 255}, {0, 255, 0},
                          {255, 0, 255},   {255, 0, 0},   {0, 0, 255}};
  for (int bar = 0; bar < 7; ++bar) {
    for (const int y : {0, 60, 120}) {
      EXPECT_TRUE(IsColour(*frame.picture, 301 * (2 * bar + 1) / 14, y, bars[bar]))
          << "bar " << bar;
    }
  }
}

TEST(TestPictureTest, BehavesAsACamera) {
  const auto source = Open({.uri = "test:ball", .test_frames_per_second = 50, .queue_capacity = 2});
  WaitUntil([&] { return source->queue().dropped() >= 5; });
  const SourceStatus status = source->status();
  EXPECT_EQ(status.state, SourceState::kStreaming);
  EXPECT_EQ(status.camera_width, 320);
  EXPECT_EQ(status.camera_frames_per_second, 50);

  source->Stop();
  std::uint64_t popped = 0;
  while (source->queue().Pop()) ++popped;
  const FrameQueue& queue = source->queue();
  EXPECT_EQ(popped, 2u);
  EXPECT_EQ(queue.received(),
            popped + queue.dropped() + queue.rejected_after_close() + queue.waiting());
  EXPECT_EQ(source->status().state, SourceState::kStopped);
}

TEST(TestPictureTest, StopsBeforeItsFirstFrame) {
  for (int i = 0; i < 20; ++i) Open({.uri = "test:", .test_frames_per_second = 1})->Stop();
}

}  // namespace
}  // namespace millrace::ingest
