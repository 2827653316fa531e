#include "base/helper_thread.h"

#include <utility>

namespace millrace {

void HelperThread::Do(std::function<void()> work) {
  const MutexLock turn(turn_);
  Task task(std::move(work));
  std::future<void> done = task.get_future();
  {
    const MutexLock lock(mu_);
    asked_ = std::move(task);
    changed_.notify_all();
  }
  done.get();
}

void HelperThread::Run(const std::stop_token& stop) {
  const std::stop_callback wake(stop, [this] {
    const MutexLock lock(mu_);
    changed_.notify_all();
  });
  while (true) {
    std::optional<Task> task = Next(stop);
    if (!task) return;
    (*task)();
  }
}

std::optional<HelperThread::Task> HelperThread::Next(const std::stop_token& stop) {
  const MutexLock lock(mu_);
  while (!asked_ && !stop.stop_requested()) changed_.wait(mu_);
  return std::exchange(asked_, std::nullopt);
}

}  // namespace millrace
