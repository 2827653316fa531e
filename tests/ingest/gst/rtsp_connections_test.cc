// Cameras that do not stop answering, or say that they will not.
#include "ingest/gst/rtsp_connections.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "ingest/source/abandoned_pipelines.h"
#include "tests/ingest/support/camera_tests.h"
#include "tests/ingest/support/loopback_port.h"
#include "tests/ingest/support/media.h"
#include "tests/ingest/support/spoken_rtsp.h"

namespace millrace::ingest {
namespace {

using ::testing::HasSubstr;

/// What a camera says that answers DESCRIBE with `begin`, and then with `more` without end.
SpokenCamera::Piece Endless(const std::string& begin, const std::string& more) {
  return [=](const std::string& request, std::int64_t number) -> std::string {
    const bool asks = request.starts_with("OPTIONS");
    if (number > 0) return asks ? "" : more;
    if (asks) return Answer(request, "200 OK", "Public: OPTIONS, DESCRIBE, SETUP, PLAY\r\n");
    std::string text = Answer(request, "200 OK", begin);
    if (begin.empty()) text.resize(text.size() - 2);  // Its header goes on.
    return text;
  };
}

/// Ends of GStreamer are waited for.
IngestSettings PatientToTheEnd() {
  IngestSettings settings = Patient();
  settings.end.in_all = std::chrono::minutes(10);
  return settings;
}

// Hangs, and is killed by the test's timeout, where GStreamer is waited for.
TEST(RtspConnectionsTest, ASourceStopsInTheMiddleOfAnAnswerWithoutEnd) {
  const std::int64_t abandoned = CountAbandoned().so_far;
  for (const char* more : {"X-Lie: more\r\n", "and on and on "}) {
    const SpokenCamera camera(Endless("", more));
    const auto source = Open(camera.url(), PatientToTheEnd());
    WaitUntil([&] { return camera.sent() > 10000; });
    source->Stop();
  }
  EXPECT_EQ(CountAbandoned().so_far, abandoned) << "the connections were cut";
}

/// Every second packet's number is far from the others'. After 10,000 of them a jitter buffer waits
/// for packets that only its waiting thread could deliver.
std::string FarApart(std::int64_t number) {
  constexpr std::int64_t kInOrder = 10;  // A source counts when its packets have come in order.
  const std::int64_t far = number > kInOrder && number % 2 == 0 ? 32000 : 0;
  return RtpPacket(static_cast<std::uint16_t>(number + far), std::string(200, 'a'),
                   static_cast<std::uint32_t>(90 * number));
}

// Hangs, and is killed by the test's timeout, where GStreamer is waited for.
TEST(RtspConnectionsTest, ASourceStopsWhileItsJitterBufferWaits) {
  const std::int64_t abandoned = CountAbandoned().so_far;
  for (int time = 0; time < 3; ++time) {  // The moment decides, too.
    const SpokenCamera camera(
        Playing(Described("m=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\na=control:video\r\n"),
                FarApart));
    const auto source = Open(camera.url(), PatientToTheEnd());
    WaitUntil([&] { return camera.was_blocked(); });
    source->Stop();
  }
  EXPECT_EQ(CountAbandoned().so_far, abandoned);
}

TEST(RtspConnectionsTest, ABodyThatIsTooLongIsNotTaken) {
  constexpr std::size_t kSentAtOnce = 1 << 20;
  const SpokenCamera camera(
      Endless("Content-Type: application/sdp\r\nContent-Length: 2000000000\r\n",
              std::string(kSentAtOnce, 'a')));
  const auto source = Open(camera.url(), Patient());
  WaitUntil([&] { return TimesIn(*source, SourceState::kBackingOff) > 0; });
  EXPECT_THAT(Cause(*source), HasSubstr("its answer is too long (over 256 KiB, or 512 KiB"));
  source->Stop();
}

// Only the time for the first picture ended it.
TEST(RtspConnectionsTest, AHeaderThatIsTooLongIsNotTaken) {
  for (const char* more : {"X-Lie: more\r\n", "and on and on "}) {
    const SpokenCamera camera(Endless("", more));
    const auto source = Open(camera.url(), Patient());
    WaitUntil([&] { return TimesIn(*source, SourceState::kBackingOff) > 0; });
    EXPECT_THAT(Cause(*source), HasSubstr("its answer is too long (over 256 KiB, or 512 KiB"));
    source->Stop();
  }
}

}  // namespace
}  // namespace millrace::ingest
