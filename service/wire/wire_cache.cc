#include "service/wire/wire_cache.h"

#include <memory>
#include <string>

namespace millrace::service {
namespace {

// The usual distance between readers. Each kept message costs memory.
constexpr std::size_t kKept = 16;

/// A slice that takes over `bytes` without a copy.
grpc::Slice Share(std::string bytes) {
  auto* const owned = new std::string(std::move(bytes));
  return {owned->data(), owned->size(), [](void* text) { delete static_cast<std::string*>(text); },
          owned};
}

}  // namespace

grpc::Slice WireCache::Get(std::uint64_t sequence, const Prediction& prediction,
                           const Carried& carried) {
  const std::shared_ptr<Message> message = Of({sequence, carried.AsBits()});
  std::call_once(message->made, [&] {
    message->bytes = Share(form_(prediction, carried));
    ++made_;
  });
  return message->bytes;
}

std::shared_ptr<WireCache::Message> WireCache::Of(const Key& key) {
  const MutexLock lock(mu_);
  std::shared_ptr<Message> message = messages_[key];
  if (message == nullptr) messages_[key] = message = std::make_shared<Message>();
  // Removes the oldest. It may be the message just requested, which other readers are unlikely to
  // need.
  if (messages_.size() > kKept) messages_.erase(messages_.begin());
  return message;
}

}  // namespace millrace::service
