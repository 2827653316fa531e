// One subscriber's place in a stream: what it gets next, and what it has lost.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "millrace/v1/prediction_service.pb.h"
#include "service/frames/prediction_ring.h"
#include "service/subscriptions/stream_feed.h"
#include "service/wire/wire.h"

namespace millrace::service {

/// Reads the ring of a stream by a policy, and keeps the counts of its subscribers. One thread at a
/// time, where nothing else is said.
class PredictionReader {
 public:
  /// What one reader's depth may keep in memory of a stream: 256 predictions of 320 x 240.
  static constexpr std::int64_t kMostHeldBytes = std::int64_t{256} << 20;

  struct Options {
    ReadPolicy policy = {};
    /// One that would lose a prediction ends instead.
    bool lossless = false;
    /// Where to begin. Absent: at the next prediction.
    std::optional<PredictionRing::Cursor> begin = {};
    Carried carried = {};
  };

  /// What `request` asks of `served`. INVALID_ARGUMENT if a field is wrong, or the depth would hold
  /// more than kMostHeldBytes; OUT_OF_RANGE if it resumes another run, or what has not come yet.
  [[nodiscard]] static absl::StatusOr<Options> OptionsOf(const v1::SubscribeRequest& request,
                                                         const ServedStream& served);

  /// A subscriber from now on, whose depth is kept for it.
  PredictionReader(std::shared_ptr<StreamFeed> feed, const Options& options);

  struct Next {
    std::shared_ptr<const Prediction> prediction;
    PredictionRing::Cursor sequence = 0;
    /// Lost before it, and in all.
    std::uint64_t dropped = 0;
    std::uint64_t dropped_total = 0;
  };
  /// What comes next; nothing where there is nothing new, or it has come to its end.
  [[nodiscard]] std::optional<Next> Read();
  /// Of Read(): with what the subscription ends, OK where the stream has ended. Nothing: there may
  /// be more.
  [[nodiscard]] const std::optional<absl::Status>& end() const { return end_; }

  /// The number of the last prediction that it was given or lost.
  [[nodiscard]] PredictionRing::Cursor place() const { return cursor_; }
  /// Lost so far.
  [[nodiscard]] std::uint64_t dropped_total() const { return dropped_total_; }

  [[nodiscard]] const Options& options() const { return options_; }
  [[nodiscard]] StreamFeed& feed() const { return *feed_; }

  // Counts. Thread-safe.
  /// A prediction was taken by the network.
  void Sent() { ++counters().sent; }
  /// Why one is let go that has taken nothing for `limit`.
  [[nodiscard]] absl::Status Stalled(std::chrono::nanoseconds limit);
  /// It reads no more: what was kept for it can go. Once.
  void LetGo() { feed_->ring().Release(options_.policy.depth); }
  /// It is no subscriber any more. Once.
  void Over() { --counters().active; }

 private:
  [[nodiscard]] SubscriberCounters& counters() { return feed_->served().subscribers; }
  [[nodiscard]] absl::Status TooSlow(const std::string& how);

  // Constant after construction. Shared with the stream's other subscriptions.
  const std::shared_ptr<StreamFeed> feed_;
  const Options options_;

  PredictionRing::Cursor cursor_;
  std::uint64_t dropped_total_ = 0;
  bool began_ = false;
  std::optional<absl::Status> end_;
};

}  // namespace millrace::service
