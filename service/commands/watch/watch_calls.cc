#include "service/commands/watch/watch_calls.h"

namespace millrace::service {

void WatchCalls::End() {
  {
    const MutexLock lock(mu_);
    ended_ = true;
    for (grpc::ClientContext* const call : calls_) call->TryCancel();
  }
  is_ended_.notify_all();
}

bool WatchCalls::ended() const {
  const MutexLock lock(mu_);
  return ended_;
}

bool WatchCalls::Pause(std::chrono::milliseconds pause) {
  const auto until = std::chrono::steady_clock::now() + pause;
  const MutexLock lock(mu_);
  while (!ended_ && is_ended_.wait_until(mu_, until) != std::cv_status::timeout) {
  }
  return ended_;
}

void WatchCalls::Add(grpc::ClientContext& call) {
  const MutexLock lock(mu_);
  calls_.insert(&call);
  if (ended_) call.TryCancel();
}

void WatchCalls::Remove(grpc::ClientContext& call) {
  const MutexLock lock(mu_);
  calls_.erase(&call);
}

WatchCall::WatchCall(WatchCalls& calls, const std::string& authorization) : calls_(calls) {
  if (!authorization.empty()) context_.AddMetadata("authorization", authorization);
  calls_.Add(context_);
}

WatchCall::~WatchCall() { calls_.Remove(context_); }

}  // namespace millrace::service
