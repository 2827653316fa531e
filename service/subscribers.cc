#include "service/subscribers.h"

#include <utility>

namespace millrace::service {

Subscribers::Subscribers() : thread_([this] { Run(); }) {}

Subscribers::~Subscribers() {
  MutexLock lock(mu_);
  while (!subscriptions_.empty()) changed_.wait(mu_);
  closing_ = true;
  changed_.notify_all();
}

void Subscribers::Add(std::shared_ptr<Subscription> subscription) {
  MutexLock lock(mu_);
  Subscription* const key = subscription.get();
  subscriptions_.emplace(key, std::move(subscription));
}

void Subscribers::Remove(Subscription& subscription) {
  Shared last;  // Destroyed after the lock is gone.
  MutexLock lock(mu_);
  const auto found = subscriptions_.find(&subscription);
  last = std::move(found->second);
  subscriptions_.erase(found);
  changed_.notify_all();
}

void Subscribers::Wake() {
  MutexLock lock(mu_);
  woken_ = true;
  changed_.notify_all();
}

void Subscribers::Run() {
  for (std::vector<Shared> work; AwaitWork(work); work.clear()) {
    for (const Shared& subscription : work) subscription->Pump();
  }
}

bool Subscribers::AwaitWork(std::vector<Shared>& work) {
  MutexLock lock(mu_);
  while (!woken_ && !closing_) changed_.wait(mu_);
  woken_ = false;
  for (const auto& [key, subscription] : subscriptions_) work.push_back(subscription);
  return !closing_;
}

}  // namespace millrace::service
