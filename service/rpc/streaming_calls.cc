#include "service/rpc/streaming_calls.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/error_reason.h"

namespace millrace::service {

StreamingCalls::StreamingCalls(std::chrono::nanoseconds stall_limit)
    : stall_limit_(stall_limit),
      next_of_all_(MonotonicClock().Now() + stall_limit / 10),
      thread_([this] { Run(); }) {}

StreamingCalls::~StreamingCalls() {
  MutexLock lock(mu_);
  while (!calls_.empty()) changed_.wait(mu_);
  closing_ = true;
  changed_.notify_all();
}

absl::Status StreamingCalls::Add(std::shared_ptr<StreamingCall> call) {
  MutexLock lock(mu_);
  if (calls_.size() >= kMax) {
    return WithReason(
        "TOO_MANY_SUBSCRIBERS", {{"limit", absl::StrCat(kMax)}},
        absl::ResourceExhaustedError(
            absl::StrCat("there are ", kMax,
                         " subscribers, watchers, downloads and clients that push, and no room for "
                         "more; end some first")));
  }
  StreamingCall* const key = call.get();
  calls_.emplace(key, std::move(call));
  return absl::OkStatus();
}

void StreamingCalls::Remove(StreamingCall& call) {
  Shared last;  // Destroyed after the lock is released.
  MutexLock lock(mu_);
  const auto found = calls_.find(&call);
  last = std::move(found->second);
  calls_.erase(found);
  changed_.notify_all();
}

void StreamingCalls::Wake(const void* topic) {
  const MutexLock lock(mu_);
  topics_.insert(topic);
  changed_.notify_all();
}

void StreamingCalls::WakeAll() {
  const MutexLock lock(mu_);
  next_of_all_ = std::chrono::nanoseconds(0);
  changed_.notify_all();
}

void StreamingCalls::Run() {
  for (Round round; AwaitWork(round); round = {}) {
    for (const Shared& call : round.calls) call->Pump();
    if (!round.of_all) continue;
    const std::chrono::nanoseconds now = MonotonicClock().Now();
    for (const Shared& call : round.calls) call->EndIfStalled(now, stall_limit_);
  }
}

bool StreamingCalls::AwaitWork(Round& round) {
  const MutexLock lock(mu_);
  const std::chrono::nanoseconds rest = next_of_all_ - MonotonicClock().Now();
  if (topics_.empty() && rest.count() > 0 && !closing_) changed_.wait_for(mu_, rest);
  const std::chrono::nanoseconds now = MonotonicClock().Now();
  round.of_all = now >= next_of_all_;
  if (round.of_all) next_of_all_ = now + stall_limit_ / 10;
  for (const auto& [key, call] : calls_) {
    if (round.of_all || topics_.contains(call->topic())) round.calls.push_back(call);
  }
  topics_.clear();
  return !closing_;
}

}  // namespace millrace::service
