// Cameras that send their viewers elsewhere.
#include "ingest/gst/redirect_guard.h"

#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/ingest/support/camera_tests.h"
#include "tests/ingest/support/loopback_port.h"
#include "tests/ingest/support/spoken_rtsp.h"

namespace millrace::ingest {
namespace {

using ::testing::HasSubstr;

TEST(RedirectGuardTest, NothingIsToldToWhomACameraSendsItsViewersOn) {
  const LoopbackPort camera;
  const LoopbackPort other;
  const std::string elsewhere = absl::StrCat("rtsp://127.0.0.1:", other.number(), "/x");
  std::jthread serving([&] {
    for (int client = 0; (client = camera.Accept()) >= 0; close(client)) {
      for (std::string request; !(request = Request(client)).empty();) {
        const std::string answer =
            request.starts_with("OPTIONS")
                ? Answer(request, "200 OK", "Public: OPTIONS, DESCRIBE, SETUP, PLAY\r\n")
                : Answer(request, "302 Moved", absl::StrCat("Location: ", elsewhere, "\r\n"));
        send(client, answer.data(), answer.size(), MSG_NOSIGNAL);
      }
    }
  });
  const auto source =
      Open(absl::StrCat("rtsp://me:secret@127.0.0.1:", camera.number(), "/live"), Patient());
  std::string heard = "nobody came";
  if (const int client = other.Accept(); client >= 0) {
    heard = Request(client);
    close(client);
  }
  EXPECT_EQ(heard, "");
  while (TimesIn(*source, SourceState::kBackingOff) == 0) std::this_thread::yield();
  EXPECT_THAT(Cause(*source), HasSubstr("the camera sends its viewers on to " + elsewhere));
  source->Stop();
  camera.Close();
}

/// The answer of a camera that redirects its viewers to `again` without limit.
std::string SentOn(const std::string& request, const std::string& again) {
  if (!request.starts_with("OPTIONS")) {
    return Answer(request, "302 Moved", absl::StrCat("Location: ", again, "\r\n"));
  }
  return Answer(request, "200 OK", "Public: OPTIONS, DESCRIBE, SETUP, PLAY\r\n");
}

/// A camera that redirects its viewers to itself without limit. If `asks` is true, it needs a
/// login.
struct RoundAndRound {
  void Serve() {
    for (int client = 0; (client = camera.Accept()) >= 0; close(client)) {
      for (std::string request; !(request = Request(client)).empty();) {
        const std::string answer = AnswerTo(request);
        send(client, answer.data(), answer.size(), MSG_NOSIGNAL);
      }
    }
  }

  std::string AnswerTo(const std::string& request) {
    if (asks && request.find("Authorization: ") == std::string::npos) {
      return Answer(request, "401 Unauthorized", "WWW-Authenticate: Basic realm=\"x\"\r\n");
    }
    if (request.starts_with("OPTIONS")) ++conversations;
    return SentOn(request, absl::StrCat("rtsp://127.0.0.1:", camera.number(), "/live"));
  }

  bool asks = false;
  LoopbackPort camera;
  /// Each begins with OPTIONS.
  std::atomic<int> conversations = 0;
};

/// Whether even OPTIONS needs a login.
class RoundAndRoundTest : public ::testing::TestWithParam<bool> {};

// Never to another place, and never with a picture.
TEST_P(RoundAndRoundTest, ACameraThatSendsItsViewersRoundAndRoundIsLeft) {
  RoundAndRound round;
  round.asks = GetParam();
  std::jthread serving([&round] { round.Serve(); });
  IngestSettings once = Patient();
  once.backoff.first = once.backoff.longest = std::chrono::hours(1);
  const auto source = Open(round.camera.Url(), once);
  while (TimesIn(*source, SourceState::kBackingOff) == 0) std::this_thread::yield();
  EXPECT_THAT(Cause(*source), HasSubstr("the camera sends its viewers on again and again"));
  EXPECT_EQ(round.conversations, 5);
  source->Stop();
  round.camera.Close();
}

INSTANTIATE_TEST_SUITE_P(RedirectGuardTest, RoundAndRoundTest, ::testing::Bool());

}  // namespace
}  // namespace millrace::ingest
