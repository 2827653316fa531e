// The state that all subscriptions of one stream share.
#pragma once

#include <grpcpp/support/slice.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "service/frames/prediction_ring.h"
#include "service/registry/served_stream.h"
#include "service/rpc/streaming_calls.h"
#include "service/wire/prediction_parts.h"

namespace millrace::service {

/// Serializes the parts of a prediction that `parts` selects.
using WireForm = std::string (*)(const Prediction& prediction, const PredictionParts& parts);

/// Keeps the stream alive and wakes its subscriptions at each prediction: they follow the hub
/// (StreamingCall::topic()). Caches the newest messages in one form, so that subscriptions with the
/// same selection share the bytes. Thread-safe. Lives as long as its last subscription.
class SubscriptionHub {
 public:
  /// `calls` must outlive it.
  SubscriptionHub(SharedStream stream, StreamingCalls& calls, WireForm form)
      : stream_(std::move(stream)),
        form_(form),
        listening_(ring().Listen([this, &calls] { calls.Wake(this); })) {}

  SubscriptionHub(const SubscriptionHub&) = delete;
  SubscriptionHub& operator=(const SubscriptionHub&) = delete;

  [[nodiscard]] ServedStream& served() { return *stream_; }
  [[nodiscard]] PredictionRing& ring() { return stream_->stream->ring(); }

  /// The message for the prediction with the number `sequence` in the ring. Waits only for a
  /// message that another thread is making.
  [[nodiscard]] grpc::Slice Bytes(std::uint64_t sequence, const Prediction& prediction,
                                  const PredictionParts& parts) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  using Key = std::pair<std::uint64_t, int>;

  struct Message {
    std::once_flag made;
    grpc::Slice bytes;  // Empty until made.
  };

  [[nodiscard]] std::shared_ptr<Message> Find(const Key& key) ABSL_LOCKS_EXCLUDED(mu_);

  // Constant after construction.
  const SharedStream stream_;
  const WireForm form_;

  Mutex mu_;
  std::map<Key, std::shared_ptr<Message>> messages_ ABSL_GUARDED_BY(mu_);

  const std::unique_ptr<PredictionRing::ListenerHandle> listening_;
};

/// The hubs of one service, one for each stream with subscriptions. Thread-safe.
class SubscriptionHubs {
 public:
  /// `calls` must outlive it. `form`: the form of the service's messages.
  SubscriptionHubs(StreamingCalls& calls, WireForm form) : calls_(calls), form_(form) {}

  /// The hub of `stream`, created if necessary.
  [[nodiscard]] std::shared_ptr<SubscriptionHub> Of(const SharedStream& stream)
      ABSL_LOCKS_EXCLUDED(mu_);

 private:
  StreamingCalls& calls_;
  const WireForm form_;

  Mutex mu_;
  std::map<const ServedStream*, std::weak_ptr<SubscriptionHub>> hubs_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millrace::service
