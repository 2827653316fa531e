// One subscriber's call: reads a stream's ring and writes to the client, one message at a time.
//
// One outstanding write is what bounds a slow client: while its message waits for the network
// nothing else is made for it, and what it misses meanwhile falls out of the ring and is counted.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <cstdint>

#include "base/mutex.h"
#include "millrace/v1/prediction_service.pb.h"
#include "service/prediction_ring.h"
#include "service/wire.h"

namespace millrace::service {

class Subscribers;

/// How many subscribers a stream has, and what became of its predictions. For one stream, over all
/// its subscribers, since the server started.
struct SubscriberCounts {
  std::uint64_t active = 0;
  /// Predictions written, and lost because a subscriber read too slowly.
  std::uint64_t sent = 0;
  std::uint64_t dropped = 0;
};

/// The same, as the subscriptions of a stream count them.
struct SubscriberCounters {
  std::atomic<std::uint64_t> active = 0;
  std::atomic<std::uint64_t> sent = 0;
  std::atomic<std::uint64_t> dropped = 0;

  [[nodiscard]] SubscriberCounts Read() const { return {active, sent, dropped}; }
};

// What a subscription is doing. Only the thread that leaves kIdle may start the next operation, so
// there is never more than one; a cancelled call finishes at the end of the operation under way.
//
//             metadata sent         new prediction
//   kOpening ───────────────▶ kIdle ─────────────▶ kWriting
//                             ▲ │ └────────────────────┘ │
//                               │ ring closed and empty, │ written
//                               ▼ cancelled              ▼ cancelled
//                            kFinishing ◀────────────────┘
//
/// Thread-safe. Called by gRPC's threads and by Subscribers, which share it: it lives until gRPC
/// has called OnDone() and no Pump() is in progress.
class Subscription final : public grpc::ServerWriteReactor<v1::SubscribeResponse> {
 public:
  struct Options {
    ReadPolicy policy = ReadPolicy::kEvery;
    Carried carried = {};
  };

  /// Subscribes from now on. Borrows all it is given for its life. Start() must follow.
  Subscription(PredictionRing& ring, Options options, SubscriberCounters& counters,
               Subscribers& subscribers);
  ~Subscription() override = default;

  /// Tells the client that the subscription stands. Once, when `subscribers` knows it.
  void Start() { StartSendInitialMetadata(); }

  /// Writes the next prediction if there is one and no write is under way; ends the call if there
  /// will be none. Cheap when there is nothing to do.
  void Pump() ABSL_LOCKS_EXCLUDED(mu_);

  void OnSendInitialMetadataDone(bool ok) override { OnOperationDone(ok); }
  void OnWriteDone(bool ok) override;
  void OnCancel() override ABSL_LOCKS_EXCLUDED(mu_);
  void OnDone() override;

 private:
  enum class State { kOpening, kIdle, kWriting, kFinishing };

  void OnOperationDone(bool ok) ABSL_LOCKS_EXCLUDED(mu_);
  /// Leaves kIdle for kWriting and returns what to write, or for kFinishing, or stays.
  [[nodiscard]] PredictionRing::ReadResult LeaveIdle(bool& finish) ABSL_LOCKS_EXCLUDED(mu_);
  void Write(const PredictionRing::ReadResult& next);

  // Constant after construction.
  const Options options_;
  PredictionRing& ring_;
  SubscriberCounters& counters_;
  Subscribers& subscribers_;

  // Whoever is in kWriting; gRPC reads it until the write is done.
  v1::SubscribeResponse response_;
  std::uint64_t dropped_total_ = 0;

  Mutex mu_;
  State state_ ABSL_GUARDED_BY(mu_) = State::kOpening;
  bool cancelled_ ABSL_GUARDED_BY(mu_) = false;
  PredictionRing::Cursor cursor_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millrace::service
