// How a stream's subscribers fare.
#pragma once

#include <atomic>
#include <cstdint>

namespace millrace::service {

/// How many subscribers a stream has, and what became of its predictions. For one stream, over all
/// its subscribers, since the stream began.
struct SubscriberCounts {
  std::uint64_t active = 0;
  /// Predictions written, and lost because a subscriber read too slowly.
  std::uint64_t sent = 0;
  std::uint64_t dropped = 0;
  /// Subscribers that the server let go because they were too slow.
  std::uint64_t cut_off = 0;
  /// Messages made of predictions: one for all who are sent the same parts.
  std::uint64_t made = 0;
};

/// The same, as the subscriptions of a stream count them. Thread-safe.
struct SubscriberCounters {
  std::atomic<std::uint64_t> active = 0;
  std::atomic<std::uint64_t> sent = 0;
  std::atomic<std::uint64_t> dropped = 0;
  std::atomic<std::uint64_t> cut_off = 0;
  std::atomic<std::uint64_t> made = 0;

  [[nodiscard]] SubscriberCounts Read() const { return {active, sent, dropped, cut_off, made}; }
};

}  // namespace millrace::service
