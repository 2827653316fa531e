// A thread for calls that take seconds: gRPC's own threads must not wait.
#pragma once

#include <deque>
#include <functional>
#include <thread>

#include "base/mutex.h"

namespace millrace::service {

/// Runs what it is given, one after the other. Thread-safe. Destroying it runs what is left first.
class ControlThread {
 public:
  ControlThread() : thread_([this] { Run(); }) {}
  ~ControlThread();

  ControlThread(const ControlThread&) = delete;
  ControlThread& operator=(const ControlThread&) = delete;

  /// Returns false, having done nothing, if too many are waiting.
  [[nodiscard]] bool Post(std::function<void()> work) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  void Run();
  [[nodiscard]] std::function<void()> Next() ABSL_LOCKS_EXCLUDED(mu_);

  Mutex mu_;
  CondVar changed_;
  std::deque<std::function<void()>> waiting_ ABSL_GUARDED_BY(mu_);
  bool closing_ ABSL_GUARDED_BY(mu_) = false;

  std::jthread thread_;
};

}  // namespace millrace::service
