// Caches serialized predictions, so that subscribers with the same selection share the bytes.
#pragma once

#include <grpcpp/support/slice.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "service/frames/prediction.h"
#include "service/wire/wire.h"

namespace millrace::service {

/// Serializes the parts of a prediction that `carried` selects.
using WireForm = std::string (*)(const Prediction& prediction, const Carried& carried);

/// The newest messages of one stream, in one form. Thread-safe. A caller waits only for a message
/// that another thread is making.
class WireCache {
 public:
  /// `made` counts the serialized messages, and must outlive it.
  WireCache(WireForm form, std::atomic<std::uint64_t>& made) : form_(form), made_(made) {}
  WireCache(const WireCache&) = delete;
  WireCache& operator=(const WireCache&) = delete;

  /// The message for the prediction with the number `sequence` in the stream's ring.
  [[nodiscard]] grpc::Slice Get(std::uint64_t sequence, const Prediction& prediction,
                                const Carried& carried) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  using Key = std::pair<std::uint64_t, int>;

  struct Message {
    std::once_flag made;
    grpc::Slice bytes;  // Empty until made.
  };

  [[nodiscard]] std::shared_ptr<Message> Of(const Key& key) ABSL_LOCKS_EXCLUDED(mu_);

  const WireForm form_;
  std::atomic<std::uint64_t>& made_;

  Mutex mu_;
  std::map<Key, std::shared_ptr<Message>> messages_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millrace::service
