#include "ingest/connection_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "ingest/camera_fault.h"
#include "ingest/gst_handles.h"
#include "tests/ingest/silent_port.h"

namespace millrace::ingest {
namespace {

constexpr std::chrono::seconds kLong{300};

absl::Status Probe(int port, std::chrono::seconds limit = kLong) {
  const GstOwned<GCancellable> stop(g_cancellable_new());
  return ProbeConnection("127.0.0.1", port, limit, *stop);
}

/// A port that has no room for another connection: it answers to none, as a machine that is off.
class FullPort {
 public:
  FullPort() : listener_(Socket()) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(listener_, generic, size), 0);
    EXPECT_EQ(getsockname(listener_, generic, &size), 0);
    EXPECT_EQ(listen(listener_, 0), 0);
    number_ = ntohs(address.sin_port);
    for (int i = 0; i < 4; ++i) {
      clients_.push_back(Socket());
      (void)connect(clients_.back(), generic, size);  // It goes on by itself.
    }
  }
  ~FullPort() {
    for (const int client : clients_) close(client);
    close(listener_);
  }
  FullPort(const FullPort&) = delete;
  FullPort& operator=(const FullPort&) = delete;

  [[nodiscard]] int number() const { return number_; }

 private:
  static int Socket() { return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); }

  const int listener_;
  std::vector<int> clients_;
  int number_ = 0;
};

TEST(ConnectionProbeTest, AConnectionThatComesAboutIsNoFault) {
  const SilentPort port(/*listens=*/true);
  EXPECT_TRUE(Probe(port.port()).ok());
}

TEST(ConnectionProbeTest, ARefusalIsOne) {
  const SilentPort port(/*listens=*/false);
  EXPECT_EQ(Probe(port.port()), StatusOf(CameraFault::kRefused));
}

TEST(ConnectionProbeTest, AnAddressThatDoesNotAnswerIsGivenUp) {
  const FullPort port;
  EXPECT_EQ(Probe(port.number(), std::chrono::seconds(1)), StatusOf(CameraFault::kUnanswered));
}

// A source must end within a second, whatever its camera does.
TEST(ConnectionProbeTest, ItEndsWhenItIsTold) {
  const FullPort port;
  const GstOwned<GCancellable> stop(g_cancellable_new());
  absl::Status found;
  std::jthread probing([&] { found = ProbeConnection("127.0.0.1", port.number(), kLong, *stop); });
  g_cancellable_cancel(stop.get());
  probing.join();
  EXPECT_FALSE(found.ok());
}

}  // namespace
}  // namespace millrace::ingest
