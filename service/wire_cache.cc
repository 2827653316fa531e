#include "service/wire_cache.h"

#include <memory>
#include <string>

namespace millrace::service {
namespace {

// As many predictions as readers commonly stand apart: what lies here is memory.
constexpr std::size_t kKept = 16;

/// `bytes` without a copy.
grpc::Slice Share(std::string bytes) {
  auto* const owned = new std::string(std::move(bytes));
  return {owned->data(), owned->size(), [](void* text) { delete static_cast<std::string*>(text); },
          owned};
}

}  // namespace

grpc::Slice WireCache::Get(std::uint64_t sequence, const Prediction& prediction,
                           const Carried& carried) {
  const std::pair<std::uint64_t, int> key(sequence, carried.AsBits());
  const MutexLock lock(mu_);
  if (const auto found = made_.find(key); found != made_.end()) return found->second;
  v1::Prediction message;
  ToMessage(prediction, carried, message);
  grpc::Slice slice = Share(message.SerializeAsString());
  made_.emplace(key, slice);
  // The oldest goes: it may be the one just made, which nobody else is likely to want.
  if (made_.size() > kKept) made_.erase(made_.begin());
  return slice;
}

}  // namespace millrace::service
