// Connects to the server's own ports again and again, as a client would. No other check shows
// whether the process can still accept.
//
// The operating system itself accepts into a queue, so a connection alone proves nothing. The
// dialer hangs up, and waits until the server does so, too.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace millrace::service {

/// Dials from construction to destruction, on its own thread. Thread-safe.
class SelfDial {
 public:
  struct Port {
    /// "gRPC".
    std::string name;
    /// The server's IP address, or the address of all interfaces ("0.0.0.0", "::").
    std::string address;
    int number = 0;
  };
  struct Options {
    std::vector<Port> ports;
    std::chrono::milliseconds every = std::chrono::seconds(2);
    /// One attempt fails if the port does nothing with the connection for this long.
    std::chrono::milliseconds patience = std::chrono::seconds(5);
    /// A port is reported after this number of failures in a row.
    int failures = 3;
    /// Called on the dialer's thread when the set of failed ports changes. `why` has one line for
    /// each failed port. A port that was never reached is not reported: a rule of this machine's
    /// network may block it.
    std::function<void(std::string why)> tell;
  };

  /// Throws std::system_error if the system has no descriptor or thread left.
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
