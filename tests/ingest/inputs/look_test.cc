#include "ingest/inputs/look.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <stop_token>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/ingest/support/loopback_port.h"
#include "tests/ingest/support/media.h"
#include "tests/ingest/support/rtsp_process.h"

namespace millrace::ingest {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(LookTest, SeesACamerasSizeRateAndCodec) {
  const RtspProcess camera({"--width", "640", "--height", "360", "--fps", "15"});
  const auto facts = Look({.uri = camera.url()});
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_EQ(facts->picture, (Extent{640, 360}));
  EXPECT_EQ(facts->frames_per_second, 15);
  EXPECT_THAT(facts->codec, HasSubstr("H.264"));
}

// Motion JPEG in RTP says nothing of a rate.
TEST(LookTest, MeasuresTheRateOfACameraThatAnnouncesNone) {
  const RtspProcess camera({"--codec", "mjpeg", "--fps", "20"});
  const auto facts = Look({.uri = camera.url()});
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_NEAR(facts->frames_per_second, 20, 2);
  EXPECT_THAT(facts->codec, HasSubstr("JPEG"));
}

TEST(LookTest, SeesPixelsThatAreNotSquare) {
  const TemporaryFolder folder;
  RunPipeline(absl::StrCat(
      "videotestsrc num-buffers=3 ! video/x-raw,width=704,height=576,framerate=25/1,"
      "pixel-aspect-ratio=12/11 ! x264enc speed-preset=ultrafast ! mp4mux ! filesink location=",
      folder / "pal.mp4"));
  const auto facts = Look({.uri = folder / "pal.mp4"});
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_EQ(facts->picture, (Extent{768, 576}));
  EXPECT_EQ(facts->sent, (Extent{704, 576}));
}

TEST(LookTest, LooksAtEveryKindOfSource) {
  const TemporaryFolder folder;
  RunPipeline(
      absl::StrCat("videotestsrc num-buffers=2 ! video/x-raw,width=160,height=120 ! jpegenc ! "
                   "multifilesink location=",
                   folder / "%d.jpg"));
  const struct {
    SourceOptions options;
    Extent picture;
    double frames_per_second;
  } cases[] = {
      {{.uri = SampleVideo()}, {768, 576}, 10},
      {{.uri = absl::StrCat("file:", SampleVideo())}, {768, 576}, 10},
      {{.uri = folder / ""}, {160, 120}, 30},
      {{.uri = folder / "*.jpg", .images_per_second = 5}, {160, 120}, 5},
      {{.uri = "test:ball", .test_frames_per_second = 12}, {320, 240}, 12},
  };
  for (const auto& [options, picture, rate] : cases) {
    ASSERT_TRUE(CanLook(options));
    const auto facts = Look(options);
    ASSERT_TRUE(facts.ok()) << facts.status();
    EXPECT_EQ(facts->picture, picture) << options.uri;
    EXPECT_NEAR(facts->frames_per_second, rate, 1e-9) << options.uri;
  }
  EXPECT_FALSE(CanLook({.uri = "push:"}));
}

TEST(LookTest, SaysWhyThereIsNothingToSeeAndNoPassword) {
  const LoopbackPort refuses(LoopbackPort::kDoesNotListen);
  const TemporaryFolder folder;
  const std::string pipe = folder / "pipe.mp4";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const std::string images = folder / "images";
  std::filesystem::create_directory(images);
  std::filesystem::create_symlink("/dev/zero", images + "/0.png");
  const struct {
    std::string uri;
    absl::StatusCode code;
    const char* says;
  } cases[] = {
      {refuses.Url(), absl::StatusCode::kUnavailable, "rtsp://***@127.0.0.1"},
      {"missing.mp4", absl::StatusCode::kNotFound, "no such file"},
      {pipe, absl::StatusCode::kInvalidArgument, "it is a pipe"},
      {images, absl::StatusCode::kFailedPrecondition, "0.png: it cannot be read: it is a pipe"},
      {"test:nosuch", absl::StatusCode::kInvalidArgument, "unknown test pattern; known are smpte"},
      {"gopher://x", absl::StatusCode::kInvalidArgument, "unknown scheme"},
      {"v4l2:/dev/no-such-camera", absl::StatusCode::kNotFound, "/dev/no-such-camera"},
  };
  for (const auto& [uri, code, says] : cases) {
    const absl::Status failed = Look({.uri = uri}).status();
    EXPECT_THAT(std::string(failed.message()), AllOf(HasSubstr(says), Not(HasSubstr("secret"))));
    EXPECT_EQ(failed.code(), code) << failed;
  }
}

TEST(LookTest, EndsInTimeWhereACameraSaysNothing) {
  const LoopbackPort silent;
  SourceOptions options = {.uri = silent.Url()};
  options.camera.connect_timeout = milliseconds(400);
  EXPECT_FALSE(Look(options).ok());
}

TEST(LookTest, IsGivenUpOnDemand) {
  const LoopbackPort silent;
  std::stop_source stop;
  SourceOptions options = {.uri = silent.Url(), .stop = stop.get_token()};
  options.camera.connect_timeout = std::chrono::hours(1);
  const std::jthread asks([&] { stop.request_stop(); });
  EXPECT_EQ(Look(options).status().code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace millrace::ingest
