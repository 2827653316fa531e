// A call that sends whatever there is, whenever it is told that there may be something.
#pragma once

#include <chrono>

namespace millrace::service {

/// Thread-safe.
class Pumped {
 public:
  virtual ~Pumped() = default;

  /// So many times the limit a client has to take what is left, and why it was let go.
  static constexpr int kLastChance = 5;

  /// Sends what there is next, unless something is on its way. Never waits for the client. Cheap
  /// when there is nothing to do.
  virtual void Pump() = 0;

  /// Ends the call of a client that has taken nothing since `limit` ago: tells why, should it ever
  /// read on, and cuts it off where it never does. Returns whether it was told
  /// now.
  virtual bool EndIfStalled(std::chrono::nanoseconds now, std::chrono::nanoseconds limit) = 0;
};

}  // namespace millrace::service
