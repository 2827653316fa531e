#include "service/registry/claims.h"

#include "absl/strings/str_cat.h"
#include "base/error_reason.h"

namespace millrace::service {
namespace {

absl::Status TooMany(const std::string& name, std::size_t waiting) {
  return WithReason(
      "TOO_MANY_CHANGES", {{"stream", name}},
      absl::UnavailableError(absl::StrCat("stream '", name, "': ", waiting,
                                          " changes of it are waiting already; try again later")));
}

}  // namespace

absl::StatusOr<Claims::Claim> Claims::Take(const std::string& name, const std::stop_token& stop,
                                           std::size_t max_waiting) {
  // Takes the lock first; otherwise the notification could come between the check of the token and
  // the wait.
  const std::stop_callback wake(stop, [this] {
    { const MutexLock lock(mu_); }
    changed_.notify_all();
  });
  {
    const MutexLock lock(mu_);
    std::deque<Ticket>& queue = queues_[name];
    if (queue.size() > max_waiting) return TooMany(name, max_waiting);
    const Ticket ticket = next_++;
    queue.push_back(ticket);
    while (queue.front() != ticket && !stop.stop_requested()) changed_.wait(mu_);
    if (stop.stop_requested()) {
      Leave(name, ticket);
      return absl::CancelledError("the call was cancelled");
    }
  }
  Claim claim(*this, name);
  if (on_taken_) on_taken_(name);
  return claim;
}

void Claims::Release(const std::string& name) {
  if (on_released_) on_released_(name);
  const MutexLock lock(mu_);
  Leave(name, queues_.at(name).front());
}

void Claims::Leave(const std::string& name, Ticket ticket) {
  const auto queue = queues_.find(name);
  std::erase(queue->second, ticket);
  if (queue->second.empty()) queues_.erase(queue);
  changed_.notify_all();
}

}  // namespace millrace::service
