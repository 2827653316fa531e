// A subscriber's cursor in a stream: its next prediction, and the number of lost ones.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "service/frames/prediction_ring.h"
#include "service/subscriptions/subscription_hub.h"
#include "service/wire/wire_subscription.h"

namespace millrace::service {

/// Reads the ring of a stream with a delivery policy, and counts its subscribers. Not thread-safe
/// except where stated.
class PredictionReader {
 public:
  /// Registers a subscriber, and reserves its depth in the ring.
  PredictionReader(std::shared_ptr<SubscriptionHub> hub, const SubscriptionOptions& options);

  struct Next {
    std::shared_ptr<const Prediction> prediction;
    PredictionRing::Cursor sequence = 0;
    /// Predictions lost before this one, and in total.
    std::uint64_t dropped = 0;
    std::uint64_t dropped_total = 0;
  };
  /// The next prediction. Nullopt if there is no new one, or if the subscription has ended.
  [[nodiscard]] std::optional<Next> Read();
  /// The final status once Read() has reached the end: OK if the stream has ended. Nullopt: not
  /// ended.
  [[nodiscard]] const std::optional<absl::Status>& end() const { return end_; }

  /// The number of the last prediction that was delivered or lost.
  [[nodiscard]] PredictionRing::Cursor place() const { return cursor_; }
  /// The number of lost predictions.
  [[nodiscard]] std::uint64_t dropped_total() const { return dropped_total_; }

  // Thread-safe.
  [[nodiscard]] SubscriptionHub& hub() const { return *hub_; }
  /// The message for `next`, which subscriptions share. May take long.
  [[nodiscard]] grpc::Slice Bytes(const Next& next) const {
    return hub_->Bytes(next.sequence, *next.prediction, options_.parts);
  }
  /// Counts a prediction that was sent.
  void Sent() { ++counters().sent; }
  /// Counts a cut-off. Returns the error for a client that has read nothing for `limit`.
  [[nodiscard]] absl::Status Stalled(std::chrono::nanoseconds limit);
  /// Releases the reserved depth after the last read. Call it once.
  void LetGo() { hub_->ring().Release(options_.policy.depth); }
  /// Unregisters the subscriber. Call it once.
  void Over() { --counters().active; }

 private:
  [[nodiscard]] SubscriberCounters& counters() { return hub_->served().subscribers; }
  [[nodiscard]] absl::Status TooSlow(const std::string& how);

  // Constant after construction. Shared with the stream's other subscriptions.
  const std::shared_ptr<SubscriptionHub> hub_;
  const SubscriptionOptions options_;

  PredictionRing::Cursor cursor_;
  std::uint64_t dropped_total_ = 0;
  bool began_ = false;
  std::optional<absl::Status> end_;
};

}  // namespace millrace::service
