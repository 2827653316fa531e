#include "service/registry/turns.h"

#include <algorithm>

namespace millrace::service {

absl::StatusOr<Turns::Turn> Turns::Take(const std::string& holder, const std::stop_token& stop) {
  std::vector<std::string> overtaken;
  absl::StatusOr<Turn> turn = TakeInOrder(holder, stop, overtaken);
  if (options_.on_overtaken) std::ranges::for_each(overtaken, options_.on_overtaken);
  return turn;
}

absl::StatusOr<Turns::Turn> Turns::TakeInOrder(const std::string& holder,
                                               const std::stop_token& stop,
                                               std::vector<std::string>& overtaken) {
  // Takes the lock first; otherwise the notification could come between the check of the token and
  // the wait.
  const std::stop_callback wake(stop, [this] {
    { const MutexLock lock(mu_); }
    changed_.notify_all();
  });
  const MutexLock lock(mu_);
  const std::uint64_t ticket = next_++;
  if (queue_.empty()) since_ = std::chrono::steady_clock::now();
  queue_.push_back({.ticket = ticket, .holder = holder});
  // A call that had its turn while it slept may itself be overtaken, and then goes on.
  while (!queue_.empty() && queue_.front().ticket < ticket && !stop.stop_requested()) {
    const Time end = since_ + options_.max_turn;
    if (std::chrono::steady_clock::now() < end) {
      changed_.wait_until(mu_, end);
      continue;
    }
    overtaken.push_back(queue_.front().holder);
    Leave(queue_.front().ticket);
  }
  if (stop.stop_requested()) {
    Leave(ticket);
    return absl::CancelledError("the call was cancelled");
  }
  return Turn(*this, ticket);
}

std::size_t Turns::waiting() const {
  const MutexLock lock(mu_);
  return queue_.empty() ? 0 : queue_.size() - 1;
}

void Turns::End(std::uint64_t ticket) {
  const MutexLock lock(mu_);
  Leave(ticket);
}

// An overtaken turn has left already.
void Turns::Leave(std::uint64_t ticket) {
  if (queue_.empty() || queue_.front().ticket > ticket) return;
  if (queue_.front().ticket == ticket) since_ = std::chrono::steady_clock::now();
  std::erase_if(queue_, [ticket](const Place& place) { return place.ticket == ticket; });
  changed_.notify_all();
}

}  // namespace millrace::service
