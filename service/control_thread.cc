#include "service/control_thread.h"

#include <utility>

namespace millrace::service {
namespace {

constexpr std::size_t kMostWaiting = 64;

}  // namespace

ControlThread::~ControlThread() {
  const MutexLock lock(mu_);
  closing_ = true;
  changed_.notify_all();
}

bool ControlThread::Post(std::function<void()> work) {
  const MutexLock lock(mu_);
  if (waiting_.size() >= kMostWaiting) return false;
  waiting_.push_back(std::move(work));
  changed_.notify_all();
  return true;
}

void ControlThread::Run() {
  while (const std::function<void()> work = Next()) work();
}

std::function<void()> ControlThread::Next() {
  const MutexLock lock(mu_);
  while (waiting_.empty() && !closing_) changed_.wait(mu_);
  if (waiting_.empty()) return nullptr;
  std::function<void()> work = std::move(waiting_.front());
  waiting_.pop_front();
  return work;
}

}  // namespace millrace::service
