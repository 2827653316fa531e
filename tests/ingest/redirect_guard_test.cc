// Cameras that send their viewers elsewhere.
#include "ingest/redirect_guard.h"

#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/ingest/camera_tests.h"
#include "tests/ingest/spoken_rtsp.h"

namespace millrace::ingest {
namespace {

using ::testing::HasSubstr;

TEST(RedirectGuardTest, NothingIsToldToWhomACameraSendsItsViewersOn) {
  const Port camera;
  const Port other;
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

// Never to another place, and never with a picture.
TEST(RedirectGuardTest, ACameraThatSendsItsViewersRoundAndRoundIsLeft) {
  const Port camera;
  const std::string again = absl::StrCat("rtsp://127.0.0.1:", camera.number(), "/live");
  std::atomic<int> conversations = 0;
  std::jthread serving([&] {
    for (int client = 0; (client = camera.Accept()) >= 0; close(client)) {
      for (std::string request; !(request = Request(client)).empty();) {
        const bool options = request.starts_with("OPTIONS");
        if (options) ++conversations;
        const std::string answer =
            options ? Answer(request, "200 OK", "Public: OPTIONS, DESCRIBE, SETUP, PLAY\r\n")
                    : Answer(request, "302 Moved", absl::StrCat("Location: ", again, "\r\n"));
        send(client, answer.data(), answer.size(), MSG_NOSIGNAL);
      }
    }
  });
  IngestSettings once = Patient();
  once.backoff.first = once.backoff.longest = std::chrono::hours(1);
  const auto source = Open(again, once);
  while (TimesIn(*source, SourceState::kBackingOff) == 0) std::this_thread::yield();
  EXPECT_THAT(Cause(*source), HasSubstr("the camera sends its viewers on again and again"));
  EXPECT_EQ(conversations, 5);
  source->Stop();
  camera.Close();
}

}  // namespace
}  // namespace millrace::ingest
