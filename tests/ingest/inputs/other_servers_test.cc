// Cameras that are other programs are watched, and come back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "ingest/inputs/open_source.h"
#include "tests/base/temporary_folder.h"
#include "tests/ingest/support/camera_tests.h"
#include "tests/ingest/support/media.h"
#include "tests/ingest/support/other_servers.h"
#include "tests/ingest/support/rtsp_process.h"

namespace millrace::ingest {
namespace {

/// A camera that shows nothing for two seconds is gone.
IngestSettings Watchful() {
  IngestSettings settings = Patient();
  settings.limits.between_frames = std::chrono::seconds(2);
  return settings;
}

/// Takes frames until one of a later epoch than `epoch`, and two seconds' worth after it, in order.
void ExpectFramesAfter(Source& source, std::int64_t epoch) {
  std::int64_t number = -1;
  for (int later = 0; later < 50;) {
    const std::optional<Frame> frame = source.queue().Pop();
    ASSERT_TRUE(frame);
    EXPECT_GT(frame->number, number);
    number = frame->number;
    if (frame->epoch > epoch) ++later;
  }
}

// ------------------------------------------------------------------------- Published by ffmpeg --

using HowPublished = std::tuple<std::string, std::string>;  // Codec and transport.

class PublishedByFfmpeg : public testing::TestWithParam<HowPublished> {
 protected:
  std::unique_ptr<ChildProcess> Publish(int width = 320) {
    const auto& [codec, transport] = GetParam();
    return FfmpegPublisher{.codec = codec, .transport = transport, .width = width}.Start(
        server_.port(), folder_ / "ffmpeg.log");
  }

  const TemporaryFolder folder_;
  const RtspProcess server_{{"--record", "--codec", std::get<0>(GetParam())}};
};

TEST_P(PublishedByFfmpeg, IsWatchedAndComesBackWithItsPublisher) {
  auto publisher = Publish();
  const auto source = Open(server_.url(), Watchful());
  ASSERT_NO_FATAL_FAILURE(ExpectFramesAfter(*source, -1));
  EXPECT_EQ(source->status().camera_width, 320);
  const std::int64_t before = source->status().epoch;

  publisher->Kill();
  WaitUntil([&] { return source->status().state != SourceState::kStreaming; });
  publisher = Publish(/*width=*/480);
  ASSERT_NO_FATAL_FAILURE(ExpectFramesAfter(*source, before));
  EXPECT_EQ(source->status().camera_width, 480);
  EXPECT_EQ(source->status().state, SourceState::kStreaming);
}

std::string NameOf(const testing::TestParamInfo<HowPublished>& how) {
  return absl::StrCat(std::get<0>(how.param), "_over_", std::get<1>(how.param));
}

INSTANTIATE_TEST_SUITE_P(EveryWay, PublishedByFfmpeg,
                         testing::Combine(testing::Values("h264", "h265"),
                                          testing::Values("tcp", "udp")),
                         NameOf);

// ------------------------------------------------------------------------------ Served by VLC --

TEST(VlcTest, IsWatchedAndComesBack) {
  Vlc vlc;
  const auto source =
      Open({.uri = vlc.url(), .camera = {.transport = Transport::kUdp}}, Watchful());
  ASSERT_NO_FATAL_FAILURE(ExpectFramesAfter(*source, -1));
  EXPECT_EQ(source->status().camera_width, 160);
  EXPECT_EQ(source->status().camera_height, 120);
  const std::int64_t before = source->status().epoch;

  vlc.Kill();
  WaitUntil([&] { return source->status().state != SourceState::kStreaming; });
  vlc.Start();
  ASSERT_NO_FATAL_FAILURE(ExpectFramesAfter(*source, before));
}

}  // namespace
}  // namespace millrace::ingest
