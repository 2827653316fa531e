#include "service/rpc/call_thread.h"

#include <sys/resource.h>
#include <unistd.h>

#include <system_error>
#include <utility>

namespace millrace::service {

CallThread::CallThread(Options options) : options_(std::move(options)) {
  threads_.emplace_back([this] { Run(); });
}

CallThread::~CallThread() {
  const MutexLock lock(mu_);
  closing_ = true;
  changed_.notify_all();
}

absl::Status CallThread::Post(const void* owner, std::function<void()> work) {
  const MutexLock lock(mu_);
  const std::size_t there_are = waiting_.size() + working_;
  if (there_are >= options_.most_waiting + options_.most_threads) return options_.full;
  if (there_are >= threads_.size() && threads_.size() < options_.most_threads) {
    try {
      threads_.emplace_back([this] { Run(); });
    } catch (const std::system_error&) {  // The work waits for an existing thread.
    }
  }
  waiting_.push_back({.owner = owner, .work = std::move(work)});
  changed_.notify_one();
  return absl::OkStatus();
}

bool CallThread::TakeBack(const void* owner) {
  const MutexLock lock(mu_);
  return std::erase_if(waiting_, [owner](const Waiting& each) { return each.owner == owner; }) > 0;
}

// Linux has a niceness per thread, and every user may raise it.
void CallThread::Run() {
  if (options_.niceness > 0) {
    setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), options_.niceness);
  }
  while (const std::function<void()> work = Next()) {
    work();
    const MutexLock lock(mu_);
    --working_;
  }
}

std::function<void()> CallThread::Next() {
  const MutexLock lock(mu_);
  while (waiting_.empty() && !closing_) changed_.wait(mu_);
  if (waiting_.empty()) return nullptr;
  std::function<void()> work = std::move(waiting_.front().work);
  waiting_.pop_front();
  ++working_;
  return work;
}

}  // namespace millrace::service
