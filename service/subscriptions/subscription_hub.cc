#include "service/subscriptions/subscription_hub.h"

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

grpc::Slice SubscriptionHub::Bytes(std::uint64_t sequence, const Prediction& prediction,
                                   const PredictionParts& parts) {
  const std::shared_ptr<Message> message = Find({sequence, parts.AsBits()});
  std::call_once(message->made, [&] {
    message->bytes = Share(form_(prediction, parts));
    ++stream_->subscribers.made;
  });
  return message->bytes;
}

std::shared_ptr<SubscriptionHub::Message> SubscriptionHub::Find(const Key& key) {
  const MutexLock lock(mu_);
  std::shared_ptr<Message> message = messages_[key];
  if (message == nullptr) messages_[key] = message = std::make_shared<Message>();
  // Removes the oldest. It may be the message just requested, which other readers are unlikely to
  // need.
  if (messages_.size() > kKept) messages_.erase(messages_.begin());
  return message;
}

std::shared_ptr<SubscriptionHub> SubscriptionHubs::Of(const SharedStream& stream) {
  const MutexLock lock(mu_);
  std::erase_if(hubs_, [](const auto& hub) { return hub.second.expired(); });
  std::weak_ptr<SubscriptionHub>& known = hubs_[stream.get()];
  std::shared_ptr<SubscriptionHub> hub = known.lock();
  if (hub == nullptr) known = hub = std::make_shared<SubscriptionHub>(stream, calls_, form_);
  return hub;
}

}  // namespace millrace::service
