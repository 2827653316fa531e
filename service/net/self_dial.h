// Connects to the server's own ports again and again, as a client would. Nothing else shows whether
// the process can still accept.
//
// The system itself accepts into a queue, so a connection alone proves nothing. The dialer hangs
// up, and waits until the server does so, too.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace millrace::service {

/// Dials from its construction to its destruction, on a thread of its own. Thread-safe.
class SelfDial {
 public:
  struct Port {
    /// "gRPC".
    std::string name;
    /// The server's IP address, perhaps that of all interfaces ("0.0.0.0", "::").
    std::string address;
    int number = 0;
  };
  struct Options {
    std::vector<Port> ports;
    std::chrono::milliseconds every = std::chrono::seconds(2);
    /// A port that does nothing with a connection for so long has failed once.
    std::chrono::milliseconds patience = std::chrono::seconds(5);
    /// A port is reported after so many failures in a row.
    int failures = 3;
    /// Is called on the thread when the ports that take no connections change. `why` has a line for
    /// each of them. A port that was never reached is not reported: a rule of this machine's
    /// network may be in the way.
    std::function<void(std::string why)> tell;
  };

  /// Throws std::system_error where the system has no descriptor or thread left.
  explicit SelfDial(Options options);
  ~SelfDial();

  SelfDial(const SelfDial&) = delete;
  SelfDial& operator=(const SelfDial&) = delete;

 private:
  class Dialer;
  struct Loop;

  const std::unique_ptr<Loop> loop_;
  std::jthread thread_;
};

}  // namespace millrace::service
