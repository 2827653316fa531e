// A real RTSP server is the camera: joined in the middle, killed, frozen, silent, absent.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "ingest/inputs/open_source.h"
#include "tests/base/temporary_folder.h"
#include "tests/ingest/support/camera_tests.h"
#include "tests/ingest/support/logged.h"
#include "tests/ingest/support/loopback_port.h"
#include "tests/ingest/support/media.h"
#include "tests/ingest/support/rtsp_process.h"

namespace millrace::ingest {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(RtspCameraTest, StreamsWhatTheCameraSees) {
  const RtspProcess camera({"--width", "640", "--height", "480", "--fps", "25"});
  const auto source = Open(camera.url(), Patient());
  std::optional<Frame> last;
  for (int i = 0; i < 20; ++i) {
    Frame frame = source->queue().Pop().value();
    EXPECT_EQ(frame.picture->width, 320);
    EXPECT_EQ(frame.picture->height, 240);
    if (last) {
      EXPECT_GT(frame.number, last->number);
      EXPECT_GT(frame.stream_time, last->stream_time);
      EXPECT_GE(frame.arrival, last->arrival);
    }
    last = std::move(frame);
  }
  const SourceStatus status = source->status();
  EXPECT_EQ(status.state, SourceState::kStreaming);
  EXPECT_TRUE(status.cause.ok());
  EXPECT_EQ(status.camera_width, 640);
  EXPECT_EQ(status.camera_height, 480);
  EXPECT_EQ(status.camera_frames_per_second, 25);
  EXPECT_EQ(status.reconnects, 0);
}

TEST(RtspCameraTest, SpeaksEveryUsualCodec) {
  for (const char* codec : {"h265", "mjpeg"}) {
    const RtspProcess camera({"--codec", codec, "--pattern", "red"});
    const auto source = Open(camera.url(), Patient());
    const Frame frame = source->queue().Pop().value();
    EXPECT_GT(frame.picture->rgb[0], 230) << codec;
    EXPECT_LT(frame.picture->rgb[1], 25) << codec;
  }
}

// A decoder that starts between key frames makes up grey pictures. The first client keeps the
// camera going, so that the second one surely joins in the middle.
TEST(RtspCameraTest, JoinsInTheMiddleWithoutGarbage) {
  for (const char* codec : {"h264", "h265"}) {
    const RtspProcess camera(
        {"--codec", codec, "--gop", "60", "--fps", "30", "--pattern", "smpte100"});
    const auto first = Open(camera.url(), Patient());
    Picture truth = *first->queue().Pop().value().picture;
    for (int i = 0; i < 10; ++i) truth = *first->queue().Pop().value().picture;

    const auto second = Open(camera.url(), Patient());
    for (int i = 0; i < 20; ++i) {
      EXPECT_LT(Difference(*second->queue().Pop().value().picture, truth), 3.0) << codec << i;
    }
  }
}

TEST(RtspCameraTest, ComesBackWhenTheCameraDoes) {
  auto camera = std::make_unique<RtspProcess>(std::vector<std::string>{});
  const std::vector<std::string> same_port = {"--port", camera->port()};
  const auto source = Open(camera->url(), Patient());
  FrameQueue& queue = source->queue();
  std::uint64_t popped = 0;
  std::int64_t number = -1;
  for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
    Frame frame;
    do {
      frame = queue.Pop().value();
      ++popped;
      EXPECT_GT(frame.number, number) << "a number came twice";
      number = frame.number;
    } while (frame.epoch < epoch);
    EXPECT_EQ(frame.epoch, epoch);
    EXPECT_EQ(source->status().state, SourceState::kStreaming);
    camera->Kill();
    WaitUntil([&] { return source->status().state == SourceState::kBackingOff; });
    EXPECT_FALSE(source->status().cause.ok());
    camera = std::make_unique<RtspProcess>(same_port);
  }
  EXPECT_GE(source->status().reconnects, 2);
  source->Stop();
  while (queue.Pop()) ++popped;
  EXPECT_EQ(queue.received(),
            popped + queue.dropped() + queue.rejected_after_close() + queue.waiting());
}

// A reader always sees a state together with its counts.
TEST(RtspCameraTest, AStatusIsOfOneMoment) {
  const RtspProcess camera({"--frames", "3", "--fps", "100"});
  const auto source = Open(camera.url(), Patient());
  for (SourceStatus status = source->status(); status.reconnects < 10; status = source->status()) {
    const auto times = [&status](SourceState state) {
      return status.entered[static_cast<std::size_t>(state)];
    };
    if (times(SourceState::kConnecting) == 0) continue;  // It has not begun.
    const bool away = status.state == SourceState::kBackingOff;
    ASSERT_EQ(times(SourceState::kConnecting), times(SourceState::kBackingOff) + (away ? 0 : 1));
    ASSERT_EQ(times(SourceState::kConnecting), status.reconnects + 1);
    ASSERT_GT(times(status.state), 0);
  }
}

// How often the log says that a camera streams which shows some frames and goes, ten times over.
std::size_t TimesSaidToStream(std::chrono::nanoseconds healthy_after) {
  const Logged logged;
  const RtspProcess camera({"--frames", "5", "--fps", "50"});
  IngestSettings settings = Patient();
  settings.limits.healthy_after = healthy_after;
  const auto source = Open(camera.url(), settings);
  WaitUntil([&] { return TimesIn(*source, SourceState::kStreaming) >= 10; });
  source->Stop();
  const std::string log = logged.text();
  std::size_t times = 0;
  for (std::size_t at = 0; (at = log.find(": streaming", at)) != std::string::npos; ++at) ++times;
  return times;
}

TEST(RtspCameraTest, ACameraThatComesAndGoesSaysSoAgainOnlyOnceItHasHeld) {
  EXPECT_EQ(TimesSaidToStream(std::chrono::minutes(1)), 1U);
  EXPECT_GE(TimesSaidToStream(std::chrono::nanoseconds(1)), 5U);
}

TEST(RtspCameraTest, GivesUpAFrozenCameraAndComesBack) {
  const RtspProcess camera({});
  IngestSettings settings = Patient();
  settings.limits.between_frames = milliseconds(1000);
  const auto source = Open(camera.url(), settings);
  EXPECT_EQ(source->queue().Pop().value().epoch, 0);
  camera.Freeze();
  WaitUntil([&] { return TimesIn(*source, SourceState::kStalled) > 0; });
  WaitUntil([&] { return TimesIn(*source, SourceState::kBackingOff) > 0; });
  EXPECT_THAT(Cause(*source), AllOf(HasSubstr(camera.url()), HasSubstr("no frame within 1 s")));
  camera.Thaw();
  while (source->queue().Pop().value().epoch == 0) continue;
  EXPECT_TRUE(source->status().cause.ok());
}

TEST(RtspCameraTest, StopsWhileTheCameraIsFrozen) {
  const RtspProcess camera({});
  const auto source = Open(camera.url(), Patient());
  EXPECT_TRUE(source->queue().Pop().has_value());
  camera.Freeze();
  const nanoseconds begin = MonotonicClock().Now();
  source->Stop();
  // Without the supervisor's help GStreamer would wait for 20 s and more.
  EXPECT_LT(MonotonicClock().Now() - begin, std::chrono::seconds(10));
  EXPECT_EQ(source->status().state, SourceState::kStopped);
}

TEST(RtspCameraTest, GivesUpACameraThatAcceptsAndSaysNothing) {
  const LoopbackPort port;
  IngestSettings settings = Patient();
  settings.limits.first_frame = milliseconds(200);
  const auto source = Open(port.Url(), settings);
  WaitUntil([&] { return source->status().reconnects >= 2; });
  EXPECT_THAT(Cause(*source),
              AllOf(HasSubstr("rtsp://***@127.0.0.1"), HasSubstr("no first frame within 0.2 s")));
  source->Stop();
  EXPECT_EQ(source->queue().Pop(), std::nullopt);
}

TEST(RtspCameraTest, TriesForEverWhereNobodyListensAndSaysSoOnce) {
  const Logged logged;
  const LoopbackPort port(LoopbackPort::kDoesNotListen);
  IngestSettings settings = Patient();
  settings.limits.first_frame = std::chrono::minutes(1);  // The refusal comes first, always.
  const auto source = Open(port.Url(), settings);
  WaitUntil([&] { return source->status().reconnects >= 10; });
  const std::ptrdiff_t open_files = OpenFiles();
  WaitUntil([&] { return source->status().reconnects >= 40; });
  EXPECT_LE(OpenFiles(), open_files + 10) << "30 failed tries more";
  EXPECT_THAT(Cause(*source), AllOf(HasSubstr("rtsp://***@127.0.0.1"),
                                    HasSubstr("connection refused: nothing listens at its port"),
                                    Not(HasSubstr("secret"))));
  source->Stop();

  const std::string log = logged.text();
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 2) << log << "connecting, and the cause";
  EXPECT_THAT(log, AllOf(HasSubstr("connection refused"), Not(HasSubstr("secret"))));
}

TEST(RtspCameraTest, LogsInWithItsCredentialsAndHidesThem) {
  const RtspProcess camera({"--user", "viewer", "--password", "hidden-word"});
  const std::string place = camera.url().substr(std::string("rtsp://").size());
  const auto stranger = Open("rtsp://viewer:wrong-word@" + place, Patient());
  WaitUntil([&] { return !stranger->status().cause.ok(); });
  EXPECT_THAT(Cause(*stranger), AllOf(HasSubstr("rtsp://***@"),
                                      HasSubstr("it does not accept this user and password"),
                                      Not(HasSubstr("wrong-word"))));
  const auto nameless = Open(camera.url(), Patient());
  WaitUntil([&] { return !nameless->status().cause.ok(); });
  EXPECT_THAT(Cause(*nameless), HasSubstr("it needs a user and a password, and no user is"));
  const auto viewer = Open("rtsp://viewer:hidden-word@" + place, Patient());
  EXPECT_TRUE(viewer->queue().Pop().has_value());
}

TEST(RtspCameraTest, AUserOfTheUriMayHaveItsPasswordElsewhere) {
  const RtspProcess camera({"--user", "viewer", "--password", "word", "--digest"});
  const TemporaryFolder folder;
  const std::string uri = "rtsp://viewer@" + camera.url().substr(std::string("rtsp://").size());
  const auto source =
      Open({.uri = uri, .camera = {.login = {.password_file = folder.Write("password", "word\n")}}},
           Patient());
  EXPECT_TRUE(source->queue().Pop().has_value());
}

TEST(RtspCameraTest, CarriesTheCamerasOwnTimeOnceItTells) {
  const RtspProcess camera({});
  const auto source = Open(camera.url(), Patient());
  std::optional<nanoseconds> camera_time;
  while (!camera_time) camera_time = source->queue().Pop().value().camera_time;
  EXPECT_LT(*camera_time, WallTime());
  EXPECT_GT(*camera_time, WallTime() - std::chrono::hours(1));
}

}  // namespace
}  // namespace millrace::ingest
