// How a real RTSP camera is asked for its pictures: transport, login, certificates, decoders.
#include <gmock/gmock.h>
#include <gst/gst.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "ingest/gst/gst_handles.h"
#include "ingest/inputs/open_source.h"
#include "tests/base/temporary_folder.h"
#include "tests/ingest/support/camera_tests.h"
#include "tests/ingest/support/media.h"
#include "tests/ingest/support/rtsp_process.h"

namespace millrace::ingest {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

bool ShowsPictures(const SourceOptions& options) {
  const auto source = Open(options, Patient());
  return source->queue().Pop().has_value();
}

/// A camera that asks for the user `viewer` and the password `word`.
std::vector<std::string> Restricted(const std::string& port) {
  return {"--port", port, "--user", "viewer", "--password", "word"};
}

/// Why the camera's first try, or one after it, was in vain.
std::string WhyLost(const SourceOptions& options) {
  const auto source = Open(options, Patient());
  WaitUntil([&] { return !source->status().cause.ok(); });
  return Cause(*source);
}

TEST(CameraOptionsTest, PacketsTravelAsTheyShould) {
  const RtspProcess udp({"--transport", "udp"});
  const RtspProcess tcp({"--transport", "tcp"});
  EXPECT_TRUE(ShowsPictures({.uri = udp.url(), .camera = {.transport = Transport::kUdp}}));
  EXPECT_TRUE(ShowsPictures({.uri = udp.url(), .camera = {.transport = Transport::kAuto}}));
  EXPECT_TRUE(ShowsPictures({.uri = tcp.url(), .camera = {.transport = Transport::kTcp}}));
  EXPECT_TRUE(ShowsPictures({.uri = tcp.url(), .camera = {.transport = Transport::kAuto}}));
  const auto other = HasSubstr("by no transport that source.transport allows");
  EXPECT_THAT(WhyLost({.uri = udp.url(), .camera = {.transport = Transport::kTcp}}), other);
  EXPECT_THAT(WhyLost({.uri = tcp.url(), .camera = {.transport = Transport::kUdp}}), other);
}

// A password that is changed, where it is kept and at the camera, needs no new start.
TEST(CameraOptionsTest, APasswordIsReadAnewForEachTry) {
  const RtspProcess camera({"--user", "viewer", "--password", "new-word"});
  const TemporaryFolder folder;
  const std::string file = folder.Write("password", "old-word\n");
  const auto source =
      Open({.uri = camera.url(), .camera = {.login = {.user = "viewer", .password_file = file}}},
           Patient());
  WaitUntil([&] { return !source->status().cause.ok(); });
  EXPECT_THAT(Cause(*source), AllOf(HasSubstr("Unauthorized"), Not(HasSubstr("old-word"))));
  std::ofstream(file) << "new-word\n";
  EXPECT_TRUE(source->queue().Pop().has_value());
  EXPECT_TRUE(source->status().cause.ok());
}

TEST(CameraOptionsTest, APasswordThatIsNowhereIsACauseThatSaysWhereItShouldBe) {
  const auto source =
      OpenSource({.uri = "rtsp://127.0.0.1:9/live",
                  .camera = {.login = {.user = "viewer", .password_variable = "MILLRACE_NO_SUCH"}}},
                 Patient());
  EXPECT_EQ(source.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(source.status().message()),
              AllOf(HasSubstr("rtsp://127.0.0.1:9/live"), HasSubstr("MILLRACE_NO_SUCH")));
}

// At the start that is most probably a typo; later it is a file that is about to be replaced.
TEST(CameraOptionsTest, APasswordFileThatIsMissingIsRefusedAtTheStartAndWaitedForLater) {
  const TemporaryFolder folder;
  const std::string file = folder / "password";
  auto camera = std::make_unique<RtspProcess>(Restricted("0"));
  const SourceOptions options{.uri = camera->url(),
                              .camera = {.login = {.user = "viewer", .password_file = file}}};
  const auto refused = OpenSource(options, Patient());
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.status().message()),
              AllOf(HasSubstr(camera->url()), HasSubstr(file), HasSubstr("source.password_file")));

  std::ofstream(file) << "word";
  const auto source = Open(options, Patient());
  EXPECT_TRUE(source->queue().Pop().has_value());
  std::filesystem::remove(file);
  const std::string port = camera->port();
  camera->Kill();
  camera = std::make_unique<RtspProcess>(Restricted(port));
  WaitUntil([&] { return Cause(*source).find("source.password_file") != std::string::npos; });
  std::ofstream(file) << "word";
  while (source->queue().Pop().value().epoch == 0) continue;
  EXPECT_TRUE(source->status().cause.ok());
}

TEST(CameraOptionsTest, APathThatTheCameraDoesNotHaveIsNotFound) {
  const RtspProcess camera({});
  EXPECT_THAT(WhyLost({.uri = camera.url() + "/no-such"}), HasSubstr("Not Found"));
}

class OverTls : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string command =
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "
        "/CN=camera -addext subjectAltName=IP:127.0.0.1 -keyout " +
        pem_ + ".key -out " + pem_ + " 2>" + pem_ + ".log && cat " + pem_ + " " + pem_ + ".key >" +
        pem_ + ".both";
    ASSERT_EQ(std::system(command.c_str()), 0);
  }
  const TemporaryFolder folder_;
  const std::string pem_ = folder_ / "camera.pem";
};

TEST_F(OverTls, OnlyACameraThatIsTrustedIsWatched) {
  const RtspProcess camera({"--tls", pem_ + ".both"});
  ASSERT_TRUE(camera.url().starts_with("rtsps://"));
  EXPECT_TRUE(ShowsPictures({.uri = camera.url(), .camera = {.tls = {.ca_file = pem_}}}));
  EXPECT_TRUE(ShowsPictures({.uri = camera.url(), .camera = {.tls = {.verify = false}}}));
  const RtspProcess udp({"--tls", pem_ + ".both", "--transport", "udp"});
  EXPECT_THAT(WhyLost({.uri = udp.url(),
                       .camera = {.transport = Transport::kAuto, .tls = {.verify = false}}}),
              HasSubstr("by no transport that source.transport allows"))
      << "pictures would come unencrypted";
  EXPECT_THAT(
      WhyLost({.uri = camera.url()}),
      HasSubstr("certificate is refused: no authority that this machine trusts has signed it"));
}

// As with a password's file.
TEST_F(OverTls, CertificatesThatAreMissingAreRefusedAtTheStartAndWaitedForLater) {
  const std::string trusted = folder_ / "trusted.pem";
  auto camera = std::make_unique<RtspProcess>(std::vector<std::string>{"--tls", pem_ + ".both"});
  const SourceOptions options{.uri = camera->url(), .camera = {.tls = {.ca_file = trusted}}};
  const auto refused = OpenSource(options, Patient());
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.status().message()),
              AllOf(HasSubstr(camera->url()), HasSubstr("certificates in " + trusted)));

  std::filesystem::copy_file(pem_, trusted);
  const auto source = Open(options, Patient());
  EXPECT_TRUE(source->queue().Pop().has_value());
  std::filesystem::remove(trusted);
  const std::string port = camera->port();
  camera->Kill();
  camera = std::make_unique<RtspProcess>(
      std::vector<std::string>{"--port", port, "--tls", pem_ + ".both"});
  WaitUntil([&] { return Cause(*source).find("source.tls_ca_file") != std::string::npos; });
  std::filesystem::copy_file(pem_, trusted);
  while (source->queue().Pop().value().epoch == 0) continue;
  EXPECT_TRUE(source->status().cause.ok());
}

// No machine that runs these tests decodes in hardware; one that does would show pictures.
TEST(CameraOptionsTest, DecodersAreOfTheKindThatIsAskedFor) {
  const RtspProcess camera({});
  EXPECT_TRUE(ShowsPictures({.uri = camera.url(), .hardware_decode = HardwareDecode::kOff}));
  const auto source =
      Open({.uri = camera.url(), .hardware_decode = HardwareDecode::kRequire}, Patient());
  WaitUntil([&] {
    return !source->status().cause.ok() || source->status().state == SourceState::kStreaming;
  });
  if (source->status().state == SourceState::kStreaming) GTEST_SKIP() << "in hardware";
  EXPECT_THAT(Cause(*source), HasSubstr("in hardware: set source.hw_decode to auto"));
}

/// Sound of the kind that SoundTest records, which GStreamer decodes with one of these.
constexpr std::array kVorbisDecoders = {"vorbisdec", "avdec_vorbis"};

/// Sound is still decoded, and a missing decoder for sound does not hide one for pictures.
class SoundTest : public ::testing::Test {
 protected:
  void TearDown() override { RankDecoders(GST_RANK_PRIMARY); }

  /// GST_RANK_NONE: as if there were no decoder for the sound.
  static void RankDecoders(guint rank) {
    for (const char* name : kVorbisDecoders) {
      const GstOwned<GstElement> decoder(gst_element_factory_make(name, nullptr));
      if (!decoder) continue;
      gst_plugin_feature_set_rank(GST_PLUGIN_FEATURE(gst_element_get_factory(decoder.get())), rank);
    }
  }

  /// A file with sound, and with pictures unless `video`, which makes them, is empty.
  [[nodiscard]] std::string Movie(const std::string& video) const {
    const std::string path = folder_ / "movie.mkv";
    RunPipeline((video.empty() ? "" : "videotestsrc num-buffers=10 ! " + video + " ! mux. ") +
                "audiotestsrc num-buffers=20 ! vorbisenc ! mux. matroskamux name=mux ! "
                "filesink location=" +
                path);
    return path;
  }

  static std::string WhyNotShown(const std::string& path, HardwareDecode decode) {
    const auto source = OpenSource({.uri = path, .hardware_decode = decode}, Patient());
    return std::string(source.status().message());
  }

  const TemporaryFolder folder_;
};

TEST_F(SoundTest, NeedsNoHardwareToBeDecoded) {
  EXPECT_TRUE(ShowsPictures(
      {.uri = Movie("video/x-raw,format=I420"), .hardware_decode = HardwareDecode::kRequire}))
      << "nothing had to be decoded";
  EXPECT_THAT(WhyNotShown(Movie(""), HardwareDecode::kRequire), HasSubstr("no video"));
}

TEST_F(SoundTest, WithoutADecoderDoesNotHideThatPicturesHaveNone) {
  const std::string movie = Movie("x264enc ! h264parse");
  RankDecoders(GST_RANK_NONE);
  EXPECT_TRUE(ShowsPictures({.uri = movie}));
  const std::string why = WhyNotShown(movie, HardwareDecode::kRequire);
  if (why.empty()) GTEST_SKIP() << "in hardware";
  EXPECT_THAT(why, AllOf(HasSubstr("no H.264"), HasSubstr("in hardware: set source.hw_decode")));
}

}  // namespace
}  // namespace millrace::ingest
