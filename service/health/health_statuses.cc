#include "service/health/health_statuses.h"

#include <utility>

namespace millrace::service {

void HealthStatuses::Set(std::string_view name, bool serving) {
  {
    MutexLock lock(mu_);
    const bool reported = serving && !draining_;
    const auto [at, added] = statuses_.try_emplace(std::string(name), reported);
    if (!added && at->second == reported) return;
    at->second = reported;
  }
  CallListeners();
}

void HealthStatuses::Drain() {
  {
    MutexLock lock(mu_);
    if (draining_) return;
    draining_ = true;
    for (auto& [name, serving] : statuses_) serving = false;
  }
  CallListeners();
}

std::optional<bool> HealthStatuses::Find(std::string_view name) const {
  MutexLock lock(mu_);
  const auto found = statuses_.find(name);
  return found == statuses_.end() ? std::nullopt : std::optional(found->second);
}

HealthStatuses::ByName HealthStatuses::All() const {
  MutexLock lock(mu_);
  return statuses_;
}

void HealthStatuses::Listen(std::function<void()> listener) {
  MutexLock lock(mu_);
  listeners_.push_back(std::move(listener));
}

void HealthStatuses::CallListeners() const {
  std::vector<std::function<void()>> called;
  {
    MutexLock lock(mu_);
    called = listeners_;
  }
  for (const std::function<void()>& listener : called) listener();
}

}  // namespace millrace::service
