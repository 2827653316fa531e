// Connects to the server's own ports again and again, as a client would: whether the process can
// still accept is seen by nothing else.
//
// A port takes a connection when it does something with it. The system itself accepts into a queue,
// so that to be connected means nothing: the call hangs up, and waits for the server to do so, too.
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
    /// What it listens on: an IP address, perhaps every one ("0.0.0.0", "::").
    std::string address;
    int number = 0;
  };
  struct Options {
    std::vector<Port> ports;
    std::chrono::milliseconds every = std::chrono::seconds(2);
    /// A port that does nothing for so long has failed once.
    std::chrono::milliseconds patience = std::chrono::seconds(5);
    /// So often in a row it fails before that is told.
    int failures = 3;
    /// Is told, a line for each, which ports take no connections, when that changes; empty: all do.
    /// Called on the thread. A port that was never reached is not told of: a rule of this machine's
    /// network may be in the way.
    std::function<void(std::string why)> tell;
  };

  /// Throws where the system has no descriptor left.
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
