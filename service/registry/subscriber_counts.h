// Counters of a stream's subscribers.
#pragma once

#include <atomic>
#include <cstdint>

namespace millrace::service {

/// Counts over all subscribers of one stream, since the stream began.
struct SubscriberCounts {
  std::uint64_t active = 0;
  /// Predictions written, and predictions lost because a subscriber read too slowly.
  std::uint64_t sent = 0;
  std::uint64_t dropped = 0;
  /// Subscribers that the server disconnected because they were too slow.
  std::uint64_t cut_off = 0;
  /// Messages encoded. Subscribers of the same parts share one message.
  std::uint64_t made = 0;
};

/// The same counts as atomics, for the subscriptions of a stream. Thread-safe.
struct SubscriberCounters {
  std::atomic<std::uint64_t> active = 0;
  std::atomic<std::uint64_t> sent = 0;
  std::atomic<std::uint64_t> dropped = 0;
  std::atomic<std::uint64_t> cut_off = 0;
  std::atomic<std::uint64_t> made = 0;

  [[nodiscard]] SubscriberCounts Read() const { return {active, sent, dropped, cut_off, made}; }
};

}  // namespace millrace::service
