// A streaming call. Pump() sends the next message, if there is one.
#pragma once

#include <atomic>
#include <chrono>

namespace millrace::service {

/// Thread-safe.
class Pumped {
 public:
  virtual ~Pumped() = default;

  /// A stalled client gets an error, and this multiple of the limit to read it before the call is
  /// cancelled.
  static constexpr int kLastChance = 5;

  /// Sends the next message, if there is one and no write is under way. Never waits for the client.
  /// Cheap without work.
  virtual void Pump() = 0;

  /// Ends the call if its client has read nothing for `limit`. The client gets an error. If it does
  /// not read that either, the call is cancelled later (kLastChance). Returns whether this call
  /// sent the error.
  virtual bool EndIfStalled(std::chrono::nanoseconds now, std::chrono::nanoseconds limit) = 0;

  /// The object whose news this call sends: Subscribers::Wake() pumps the calls of one topic. At
  /// first the call itself.
  [[nodiscard]] const void* topic() const { return topic_; }

 protected:
  void Follow(const void* topic) { topic_ = topic; }

 private:
  std::atomic<const void*> topic_ = this;  // Only compared.
};

}  // namespace millrace::service
