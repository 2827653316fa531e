// Cameras that are other programs: ffmpeg publishes to an RTSP server, and VLC is one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "ingest/open_source.h"
#include "tests/base/temporary_folder.h"
#include "tests/ingest/camera_tests.h"
#include "tests/ingest/child_process.h"
#include "tests/ingest/media.h"
#include "tests/ingest/rtsp_process.h"

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
  /// An encoder that works in time, whose pictures change size when `width` does.
  std::unique_ptr<ChildProcess> Publish(int width = 320) {
    const auto& [codec, transport] = GetParam();
    const std::string url = absl::StrCat("rtsp://127.0.0.1:", server_.port(), "/publish");
    return std::make_unique<ChildProcess>(
        std::vector<std::string>{"ffmpeg",
                                 "-nostdin",
                                 "-loglevel",
                                 "error",
                                 "-re",
                                 "-f",
                                 "lavfi",
                                 "-i",
                                 absl::StrCat("testsrc2=size=", width, "x240:rate=25"),
                                 "-t",
                                 "300",
                                 "-c:v",
                                 codec == "h264" ? "libx264" : "libx265",
                                 "-preset",
                                 "ultrafast",
                                 "-tune",
                                 "zerolatency",
                                 "-g",
                                 "25",
                                 "-pix_fmt",
                                 "yuv420p",
                                 "-f",
                                 "rtsp",
                                 "-rtsp_transport",
                                 transport,
                                 url},
        folder_ / "ffmpeg.log");
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

/// VLC, which serves RTP over UDP alone and refuses to run as root.
class Vlc {
 public:
  Vlc() {
    namespace fs = std::filesystem;
    RunPipeline(
        "videotestsrc pattern=ball num-buffers=5000 ! video/x-raw,width=160,height=120,"
        "framerate=25/1 ! x264enc tune=zerolatency speed-preset=ultrafast key-int-max=25 ! mp4mux "
        "! "
        "filesink location=" +
        (folder_ / "movie.mp4"));
    fs::permissions(folder_.path(), fs::perms::all);
    Start();
  }

  [[nodiscard]] std::string url() const {
    return absl::StrCat("rtsp://127.0.0.1:", port_, "/live");
  }

  void Start() {
    std::vector<std::string> command;
    if (geteuid() == 0) {
      command = {"setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"};
    }
    const std::string output = absl::StrCat("#rtp{sdp=", url(), "}");
    command.insert(command.end(),
                   {"env", absl::StrCat("HOME=", folder_.path().string()), "cvlc", "--quiet",
                    folder_ / "movie.mp4", "--sout", output, "--sout-keep"});
    process_ = std::make_unique<ChildProcess>(command, folder_ / "vlc.log");
    WaitUntil([this] { return Listens(port_); });
  }

  void Kill() { process_->Kill(); }

 private:
  const TemporaryFolder folder_;
  const int port_ = FreePort();
  std::unique_ptr<ChildProcess> process_;
};

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
