#include "ingest/gst/connection_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <thread>

#include "ingest/gst/gst_handles.h"
#include "ingest/source/camera_fault.h"
#include "tests/ingest/support/loopback_port.h"

namespace millrace::ingest {
namespace {

constexpr std::chrono::seconds kLong{300};

absl::Status Probe(int port, std::chrono::seconds limit = kLong) {
  const GstOwned<GCancellable> stop(g_cancellable_new());
  return ProbeConnection("127.0.0.1", port, limit, *stop);
}

/// A port without room for another connection: it does not answer, like a machine that is off.
class FullPort {
 public:
  FullPort() {
    const sockaddr_in& address = port_.address();
    for (int& client : clients_) {
      client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
      // It goes on by itself.
      (void)connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
    }
  }
  ~FullPort() {
    for (const int client : clients_) close(client);
  }
  FullPort(const FullPort&) = delete;
  FullPort& operator=(const FullPort&) = delete;

  [[nodiscard]] int number() const { return port_.number(); }

 private:
  const LoopbackPort port_{/*backlog=*/0};
  std::array<int, 4> clients_ = {};
};

TEST(ConnectionProbeTest, AConnectionThatComesAboutIsNoFault) {
  const LoopbackPort port;
  EXPECT_TRUE(Probe(port.number()).ok());
}

TEST(ConnectionProbeTest, ARefusalIsOne) {
  const LoopbackPort port(LoopbackPort::kDoesNotListen);
  EXPECT_EQ(Probe(port.number()), StatusOf(CameraFault::kRefused));
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
