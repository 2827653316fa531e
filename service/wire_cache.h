// Predictions as bytes, made once and shared by all who are sent the same.
#pragma once

#include <grpcpp/support/slice.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "base/mutex.h"
#include "service/prediction.h"
#include "service/wire.h"

namespace millrace::service {

/// The newest messages of one stream. Thread-safe: who asks for what another is making waits for
/// it, and for nothing else.
class WireCache {
 public:
  /// `made` counts the messages that are made, and must outlive it.
  explicit WireCache(std::atomic<std::uint64_t>& made) : made_(made) {}
  WireCache(const WireCache&) = delete;
  WireCache& operator=(const WireCache&) = delete;

  /// The bytes of v1::Prediction for the prediction that the stream's ring numbers `sequence`.
  [[nodiscard]] grpc::Slice Get(std::uint64_t sequence, const Prediction& prediction,
                                const Carried& carried) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  using Key = std::pair<std::uint64_t, int>;

  struct Message {
    std::once_flag made;
    grpc::Slice bytes;  // Once it is made.
  };

  [[nodiscard]] std::shared_ptr<Message> Of(const Key& key) ABSL_LOCKS_EXCLUDED(mu_);

  std::atomic<std::uint64_t>& made_;

  Mutex mu_;
  std::map<Key, std::shared_ptr<Message>> messages_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millrace::service
