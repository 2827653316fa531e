#include "service/claims.h"

namespace millrace::service {

absl::StatusOr<Claims::Claim> Claims::Take(const std::string& name, const std::stop_token& stop) {
  // With the lock held, or the call could come between a look at the token and the wait.
  const std::stop_callback wake(stop, [this] {
    { const MutexLock lock(mu_); }
    released_.notify_all();
  });
  {
    const MutexLock lock(mu_);
    while (taken_.contains(name) && !stop.stop_requested()) released_.wait(mu_);
    if (stop.stop_requested()) return absl::CancelledError("the call was cancelled");
    taken_.insert(name);
  }
  Claim claim(*this, name);
  if (tell_taken_) tell_taken_(name);
  return claim;
}

void Claims::Release(const std::string& name) {
  if (tell_released_) tell_released_(name);
  const MutexLock lock(mu_);
  taken_.erase(name);
  released_.notify_all();
}

}  // namespace millrace::service
