// The state that all subscriptions of one stream share.
#pragma once

#include <map>
#include <memory>

#include "base/mutex.h"
#include "service/frames/prediction_ring.h"
#include "service/registry/served_stream.h"
#include "service/rpc/subscribers.h"
#include "service/wire/wire_cache.h"

namespace millrace::service {

/// Keeps the stream alive, wakes its subscriptions at each prediction, and caches their messages.
/// Thread-safe. Lives as long as its last subscription.
class StreamFeed {
 public:
  /// `subscribers` must outlive it.
  StreamFeed(SharedStream stream, Subscribers& subscribers, WireForm form)
      : stream_(std::move(stream)),
        cache_(form, stream_->subscribers.made),
        listening_(stream_->stream->ring().Listen([this, &subscribers] { subscribers.Wake(this); })) {}

  StreamFeed(const StreamFeed&) = delete;
  StreamFeed& operator=(const StreamFeed&) = delete;

  [[nodiscard]] ServedStream& served() { return *stream_; }
  [[nodiscard]] PredictionRing& ring() { return stream_->stream->ring(); }
  [[nodiscard]] WireCache& cache() { return cache_; }

 private:
  // Constant after construction.
  const SharedStream stream_;

  // Self-synchronized.
  WireCache cache_;
  const std::unique_ptr<PredictionRing::Listening> listening_;
};

/// The feeds of one service, one for each stream with subscriptions. Thread-safe.
class StreamFeeds {
 public:
  /// `subscribers` must outlive it. `form`: the form of the service's messages.
  StreamFeeds(Subscribers& subscribers, WireForm form) : subscribers_(subscribers), form_(form) {}

  /// The feed of `stream`, created if necessary.
  [[nodiscard]] std::shared_ptr<StreamFeed> Of(const SharedStream& stream) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  Subscribers& subscribers_;
  const WireForm form_;

  Mutex mu_;
  std::map<const ServedStream*, std::weak_ptr<StreamFeed>> feeds_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millrace::service
