// Threads for long calls, because gRPC's own threads must not wait, and such calls.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <deque>
#include <functional>
#include <stop_token>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "service/rpc/self_deleting_reactor.h"

namespace millrace::service {

/// Runs posted work in order, concurrently on its threads. Thread-safe. The destructor first runs
/// the remaining work.
class CallThread {
 public:
  struct Options {
    std::size_t max_waiting = 64;
    /// Threads after the first start on demand, when all others are busy and the system has a
    /// thread left. They stay.
    std::size_t max_threads = 1;
    /// The threads' niceness as in nice(1), up to 19; a higher value yields to other work. 0:
    /// the niceness of the creating thread.
    int niceness = 0;
    /// The error of a call when too many others wait.
    absl::Status full;
  };

  explicit CallThread(Options options);
  ~CallThread();

  CallThread(const CallThread&) = delete;
  CallThread& operator=(const CallThread&) = delete;

  /// Queues `work`. Fails with Options::full, without queuing it, if too many calls wait. `owner`
  /// identifies the work.
  [[nodiscard]] absl::Status Post(const void* owner, std::function<void()> work)
      ABSL_LOCKS_EXCLUDED(mu_);
  /// Removes the owner's waiting work. Returns whether it was still waiting; then it will not run.
  [[nodiscard]] bool TakeBack(const void* owner) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  struct Waiting {
    const void* owner = nullptr;
    std::function<void()> work;
  };

  void Run() ABSL_LOCKS_EXCLUDED(mu_);
  /// Waits for the next work. Empty at the end.
  [[nodiscard]] std::function<void()> Next() ABSL_LOCKS_EXCLUDED(mu_);

  // Constant after construction.
  const Options options_;

  Mutex mu_;
  CondVar changed_;
  std::deque<Waiting> waiting_ ABSL_GUARDED_BY(mu_);
  std::size_t working_ ABSL_GUARDED_BY(mu_) = 0;
  bool closing_ ABSL_GUARDED_BY(mu_) = false;

  std::vector<std::jthread> threads_;  // Created with mu_ held.
};

/// A unary call that runs its work on a CallThread. If the client cancels or its deadline passes,
/// waiting work is removed, and running work is asked to stop. The thread shares ownership of the
/// call until its work is done.
class ThreadedCall final : public SelfDeletingReactor<grpc::ServerUnaryReactor> {
 public:
  /// Returns CANCELLED, without any change, once the token is stopped or the server stops. In the
  /// second case the client gets UNAVAILABLE (SERVER_STOPS). An exception is logged and becomes
  /// INTERNAL for the client.
  using Work = std::function<absl::Status(const std::stop_token& stop)>;

  /// The reactor of a call that runs `work`. Fails as CallThread::Post() does.
  static grpc::ServerUnaryReactor* Begin(CallThread& thread, Work work);

  void OnCancel() override;

 private:
  ThreadedCall(CallThread& thread, Work work);

  void Run();
  [[nodiscard]] absl::Status Guarded();

  CallThread& thread_;
  const Work work_;
  std::stop_source stop_;
};

}  // namespace millrace::service
