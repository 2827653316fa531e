// Faults of real cameras and networks while a stream plays.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "tests/ingest/support/camera_tests.h"
#include "tests/ingest/support/media.h"
#include "tests/ingest/support/rtsp_process.h"

namespace millrace::ingest {
namespace {

using std::chrono::milliseconds;

/// Pops `count` frames of one session, and more until there were `gaps`. The queue is long enough
/// for all frames.
struct Watched {
  std::vector<Frame> frames;
  SourceStatus status;
};

Watched Watch(const std::string& url, int count, Transport transport = Transport::kTcp,
              std::int64_t gaps = 0) {
  const auto source =
      Open({.uri = url, .queue_capacity = 1000, .camera = {.transport = transport}}, Patient());
  Watched watched;
  while (static_cast<int>(watched.frames.size()) < count || watched.frames.back().gaps < gaps) {
    watched.frames.push_back(source->queue().Pop().value());
  }
  watched.status = source->status();
  return watched;
}

void ExpectSmooth(const Watched& watched, nanoseconds interval) {
  for (std::size_t i = 1; i < watched.frames.size(); ++i) {
    const Frame& frame = watched.frames[i];
    EXPECT_EQ(frame.epoch, 0) << i;
    EXPECT_EQ(frame.number, static_cast<std::int64_t>(i));
    EXPECT_EQ(frame.predecessor, NoPredecessor::kHasOne) << i;
    const nanoseconds step = frame.stream_time - watched.frames[i - 1].stream_time;
    EXPECT_LT(std::abs((step - interval).count()), interval.count() / 2) << i;
  }
  EXPECT_EQ(watched.status.reconnects, 0);
}

// As when somebody turns a knob at the camera: the stream goes on, with other parameter sets.
TEST(CameraFaultsTest, AnotherSizeInTheMiddleOfAStreamIsScaledAndCounted) {
  for (const char* codec : {"h264", "h265"}) {
    SCOPED_TRACE(codec);
    const RtspProcess camera(
        {"--codec", codec, "--widen-after", "40", "--width", "160", "--height", "120"});
    const SourceOptions options{.uri = camera.url(), .queue_capacity = 1000};
    const auto source = Open(options, Patient());
    for (int number = 0, wide = 0; wide < 40; ++number) {
      const Frame frame = source->queue().Pop().value();
      EXPECT_EQ(frame.picture->width, 320);
      EXPECT_EQ(frame.picture->height, 240);
      EXPECT_EQ(frame.number, number);
      EXPECT_EQ(frame.epoch, frame.size_changes) << "no motion is learned between two shapes";
      if (frame.size_changes == 1) ++wide;
    }
    const SourceStatus status = source->status();
    EXPECT_EQ(status.camera_width, 320);
    EXPECT_EQ(status.size_changes, 1);
    EXPECT_EQ(status.reconnects, 0);
  }
}

// 32 bits of a timestamp at 90 kHz last 13 hours, the 16 of a number some minutes.
TEST(CameraFaultsTest, RtpNumbersThatWrapAreNotNoticed) {
  const RtspProcess camera({"--wrap", "--fps", "25"});
  const SourceOptions options{.uri = camera.url(), .queue_capacity = 1000};
  const auto source = Open(options, Patient());
  Watched watched;
  watched.frames.push_back(source->queue().Pop().value());
  ASSERT_FALSE(camera.HasSaidMore()) << "they wrapped before there was a frame";
  ASSERT_EQ(camera.NextLine(), "wrapped");
  const std::int64_t enough = watched.frames.front().number + 125;
  while (watched.frames.back().number < enough) {
    watched.frames.push_back(source->queue().Pop().value());
  }
  watched.status = source->status();
  ExpectSmooth(watched, milliseconds(40));
}

// They travel in another order than they are shown.
TEST(CameraFaultsTest, BFramesComeInTheirOrder) {
  const RtspProcess camera({"--b-frames", "2", "--pattern", "ball"});
  ExpectSmooth(Watch(camera.url(), 60), milliseconds(40));
}

/// Colour bars that go round and round, by 4 of 320 pixels a frame.
class Carousel {
 public:
  static constexpr int kFrames = 80;  ///< Of a round.

  /// The difference between a picture and frame `number` of this round, or of a later one.
  [[nodiscard]] double Distance(const Picture& picture, int number) const {
    return Difference(picture, round_[static_cast<std::size_t>(number % kFrames)]);
  }

  /// Of `count` frames from `first` on, which one it shows.
  [[nodiscard]] int Shown(const Picture& picture, int first, int count) const {
    int shown = first;
    for (int number = first; number < first + count; ++number) {
      if (Distance(picture, number) < Distance(picture, shown)) shown = number;
    }
    return shown;
  }

 private:
  const std::vector<Picture> round_ =
      TestPictures("pattern=smpte100 horizontal-speed=4", kFrames, 320, 240);
};

/// Each picture is one of the carousel's, whole, and a later one than that before.
void ExpectUndamaged(const std::vector<Frame>& frames, const Carousel& carousel) {
  int shown = carousel.Shown(*frames.front().picture, 0, Carousel::kFrames);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const Frame& frame = frames[i];
    if (i > 0) {
      const nanoseconds step = frame.stream_time - frames[i - 1].stream_time;
      const int before = shown;
      const int expected = before + static_cast<int>((step + milliseconds(20)) / milliseconds(40));
      shown = carousel.Shown(*frame.picture, std::max(before, expected - 1), 3);
      EXPECT_GT(shown, before) << frame.number << " was repeated";
    }
    EXPECT_LT(carousel.Distance(*frame.picture, shown), 4.0) << frame.number;
  }
}

// A lost packet costs pictures, which are gaps, and shows no damaged one: none that is made of two,
// and none that a decoder has repeated for want of a better one.
TEST(CameraFaultsTest, LostPacketsCostPicturesAndDamageNone) {
  const Carousel carousel;
  for (const std::string codec : {"h264", "h265"}) {
    SCOPED_TRACE(codec);
    const RtspProcess camera({"--codec", codec, "--pattern", "smpte100", "--speed", "4", "--gop",
                              "10", "--loss", "5", "--reorder", "5", "--transport", "udp"});
    const Watched watched = Watch(camera.url(), 60, Transport::kUdp, /*gaps=*/1);
    ExpectUndamaged(watched.frames, carousel);
  }
}

TEST(CameraFaultsTest, AStreamThatEndsBeginsAgain) {
  const RtspProcess camera({"--frames", "20"});
  const auto source = Open(camera.url(), Patient());
  while (source->queue().Pop().value().epoch < 2) continue;
  EXPECT_GE(source->status().reconnects, 2);
  WaitUntil([&] { return !source->status().cause.ok(); });
  EXPECT_THAT(Cause(*source), testing::HasSubstr("ended the stream"));
}

}  // namespace
}  // namespace millrace::ingest
