// Cameras that send their viewers elsewhere.
#include "ingest/redirect_guard.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/ingest/camera_tests.h"

namespace millrace::ingest {
namespace {

using ::testing::HasSubstr;

/// A TCP port of this machine that listens.
class Port {
 public:
  Port() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(socket_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    EXPECT_EQ(listen(socket_, 16), 0);
    number_ = ntohs(address.sin_port);
  }
  ~Port() { close(socket_); }
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  [[nodiscard]] int number() const { return number_; }
  /// Waits for a client. -1: Close() was called.
  [[nodiscard]] int Accept() const { return accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC); }
  void Close() const { shutdown(socket_, SHUT_RDWR); }

 private:
  const int socket_;
  int number_ = 0;
};

/// What a client says until it is gone or has asked something.
std::string Request(int client) {
  std::string text;
  char piece[4096];
  while (text.find("\r\n\r\n") == std::string::npos) {
    const ssize_t size = recv(client, piece, sizeof(piece), 0);
    if (size <= 0) break;
    text.append(piece, static_cast<std::size_t>(size));
  }
  return text;
}

std::string Answer(const std::string& request, const std::string& code, const std::string& more) {
  const std::size_t at = request.find("CSeq: ");
  return absl::StrCat("RTSP/1.0 ", code, "\r\n", request.substr(at, request.find("\r\n", at) - at),
                      "\r\n", more, "\r\n");
}

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

}  // namespace
}  // namespace millrace::ingest
