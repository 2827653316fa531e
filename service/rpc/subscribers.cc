#include "service/rpc/subscribers.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/error_reason.h"

namespace millrace::service {

Subscribers::Subscribers(std::chrono::nanoseconds stall_limit)
    : stall_limit_(stall_limit), thread_([this] { Run(); }) {}

Subscribers::~Subscribers() {
  MutexLock lock(mu_);
  while (!calls_.empty()) changed_.wait(mu_);
  closing_ = true;
  changed_.notify_all();
}

absl::Status Subscribers::Add(std::shared_ptr<Pumped> call) {
  MutexLock lock(mu_);
  if (calls_.size() >= kMost) {
    return Because("TOO_MANY_SUBSCRIBERS", {{"limit", absl::StrCat(kMost)}},
                   absl::ResourceExhaustedError(absl::StrCat(
                       "there are ", kMost,
                       " subscribers, watchers, downloads and clients that push, and no room for "
                       "more; end some first")));
  }
  Pumped* const key = call.get();
  calls_.emplace(key, std::move(call));
  return absl::OkStatus();
}

void Subscribers::Remove(Pumped& call) {
  Shared last;  // Destroyed after the lock is released.
  MutexLock lock(mu_);
  const auto found = calls_.find(&call);
  last = std::move(found->second);
  calls_.erase(found);
  changed_.notify_all();
}

void Subscribers::Wake() {
  MutexLock lock(mu_);
  woken_ = true;
  changed_.notify_all();
}

void Subscribers::Run() {
  for (std::vector<Shared> work; AwaitWork(work); work.clear()) {
    for (const Shared& call : work) call->Pump();
    EndStalled(work);
  }
}

bool Subscribers::AwaitWork(std::vector<Shared>& work) {
  MutexLock lock(mu_);
  if (!woken_ && !closing_) changed_.wait_for(mu_, stall_limit_ / 10);
  woken_ = false;
  for (const auto& [key, call] : calls_) work.push_back(call);
  return !closing_;
}

void Subscribers::EndStalled(const std::vector<Shared>& calls) {
  const std::chrono::nanoseconds now = MonotonicClock().Now();
  if (now - looked_ < stall_limit_ / 10) return;
  looked_ = now;
  for (const Shared& call : calls) call->EndIfStalled(now, stall_limit_);
}

}  // namespace millrace::service
