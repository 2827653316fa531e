// One subscriber's call: reads a stream's ring and writes to the client.
//
// While a message waits for the network, what the client misses meanwhile falls out of its depth of
// the ring and is counted.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "millrace/v1/prediction_service.pb.h"
#include "service/prediction_ring.h"
#include "service/stream_feed.h"
#include "service/stream_writer.h"
#include "service/wire.h"

namespace millrace::service {

/// Thread-safe, as StreamWriter.
class Subscription final : public StreamWriter<grpc::ByteBuffer> {
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

  /// Subscribes. `subscribers` must outlive it. Begin() must follow.
  Subscription(std::shared_ptr<StreamFeed> feed, const Options& options, Subscribers& subscribers);

 protected:
  Step Advance(grpc::ByteBuffer& message, absl::Status& end) override;
  void Written() override { ++counters().sent; }
  absl::Status Stalled(std::chrono::nanoseconds limit) override;
  void Ending() override { feed_->ring().Release(options_.policy.depth); }
  void Over() override { --counters().active; }

 private:
  [[nodiscard]] SubscriberCounters& counters() { return feed_->served().subscribers; }
  [[nodiscard]] absl::Status TooSlow(const std::string& how);

  // Constant after construction. Shared with the stream's other subscriptions.
  const std::shared_ptr<StreamFeed> feed_;
  const Options options_;

  // Of whoever is in Advance().
  PredictionRing::Cursor cursor_;
  std::uint64_t dropped_total_ = 0;
  bool began_ = false;
};

}  // namespace millrace::service
