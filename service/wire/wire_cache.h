// Predictions as bytes, made once and shared by all who are sent the same.
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

/// Makes the bytes of a message that holds what is `carried` of a prediction.
using WireForm = std::string (*)(const Prediction& prediction, const Carried& carried);

/// The newest messages of one stream, in one form. Thread-safe: who asks for what another is making
/// waits for it, and for nothing else.
class WireCache {
 public:
  /// `made` counts the messages that are made, and must outlive it.
  WireCache(WireForm form, std::atomic<std::uint64_t>& made) : form_(form), made_(made) {}
  WireCache(const WireCache&) = delete;
  WireCache& operator=(const WireCache&) = delete;

  /// The message for the prediction that the stream's ring numbers `sequence`.
  [[nodiscard]] grpc::Slice Get(std::uint64_t sequence, const Prediction& prediction,
                                const Carried& carried) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  using Key = std::pair<std::uint64_t, int>;

  struct Message {
    std::once_flag made;
    grpc::Slice bytes;  // Once it is made.
  };

  [[nodiscard]] std::shared_ptr<Message> Of(const Key& key) ABSL_LOCKS_EXCLUDED(mu_);

  const WireForm form_;
  std::atomic<std::uint64_t>& made_;

  Mutex mu_;
  std::map<Key, std::shared_ptr<Message>> messages_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millrace::service
