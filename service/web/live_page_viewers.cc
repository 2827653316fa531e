#include "service/web/live_page_viewers.h"

namespace millrace::service {

bool LivePageViewers::Admit(std::string_view id) {
  MutexLock lock(mu_);
  ForgetGone();
  const auto known = last_asked_.find(id);
  if (known != last_asked_.end()) {
    known->second = clock_.Now();
    return true;
  }
  if (last_asked_.size() >= limit_) return false;
  last_asked_.emplace(id, clock_.Now());
  return true;
}

std::size_t LivePageViewers::count() const {
  MutexLock lock(mu_);
  ForgetGone();
  return last_asked_.size();
}

void LivePageViewers::ForgetGone() const {
  const std::chrono::nanoseconds now = clock_.Now();
  std::erase_if(last_asked_, [&](const auto& viewer) { return now - viewer.second > kPatience; });
}

}  // namespace millrace::service
