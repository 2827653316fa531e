// What real cameras and networks do to a stream while it plays.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "tests/ingest/camera_tests.h"
#include "tests/ingest/media.h"
#include "tests/ingest/rtsp_process.h"

namespace millrace::ingest {
namespace {

using std::chrono::milliseconds;

/// Pops `count` frames of one session; `queue_capacity` is so long that none is pushed out.
struct Watched {
  std::vector<Frame> frames;
  SourceStatus status;
};

Watched Watch(const std::string& url, int count, Transport transport = Transport::kTcp) {
  const auto source =
      Open({.uri = url, .queue_capacity = 1000, .camera = {.transport = transport}}, Patient());
  Watched watched;
  while (static_cast<int>(watched.frames.size()) < count) {
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

// 32 bits of a timestamp at 90 kHz last 13 hours, the 16 of a number some minutes.
TEST(CameraFaultsTest, RtpNumbersThatWrapAreNotNoticed) {
  const RtspProcess camera({"--wrap", "--fps", "25"});
  ExpectSmooth(Watch(camera.url(), 75), milliseconds(40));
}

// They travel in another order than they are shown.
TEST(CameraFaultsTest, BFramesComeInTheirOrder) {
  const RtspProcess camera({"--b-frames", "2", "--pattern", "ball"});
  ExpectSmooth(Watch(camera.url(), 60), milliseconds(40));
}

// A lost packet costs pictures, which are gaps, and shows no damaged one.
TEST(CameraFaultsTest, LostPacketsCostPicturesAndDamageNone) {
  const RtspProcess camera({"--loss", "5", "--reorder", "5", "--gop", "10", "--pattern", "smpte100",
                            "--transport", "udp"});
  const Watched watched = Watch(camera.url(), 60, Transport::kUdp);
  const RtspProcess sound({"--pattern", "smpte100"});
  const Picture truth = *Watch(sound.url(), 10).frames.back().picture;
  std::int64_t gaps = 0;
  for (const Frame& frame : watched.frames) {
    EXPECT_LT(Difference(*frame.picture, truth), 3.0) << frame.number;
    gaps = frame.gaps;
  }
  EXPECT_GT(gaps, 0) << "nothing was lost";
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
