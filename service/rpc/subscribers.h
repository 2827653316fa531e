// Keeps the streaming calls that gRPC still uses, and wakes them when there is something to send.
//
// Predictions are published on the learner's thread, and making a message of one copies megabytes.
// So the publisher only raises a flag, and a thread here does the rest. It also lets go of clients
// that take nothing.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "service/rpc/pumped.h"

namespace millrace::service {

/// Owns calls from Add() to Remove(). Thread-safe. Destroying it waits until gRPC has let go of
/// every call, so the server must be shut down first.
class Subscribers {
 public:
  /// Each call may hold a message or two of megabytes, and the thread looks at all of them.
  static constexpr std::size_t kMost = 1000;

  /// A client that takes nothing for `stall_limit` is let go.
  explicit Subscribers(std::chrono::nanoseconds stall_limit = std::chrono::seconds(10));
  ~Subscribers();

  Subscribers(const Subscribers&) = delete;
  Subscribers& operator=(const Subscribers&) = delete;

  /// RESOURCE_EXHAUSTED if there are kMost already.
  [[nodiscard]] absl::Status Add(std::shared_ptr<Pumped> call) ABSL_LOCKS_EXCLUDED(mu_);
  /// Forgets `call`, which may be destroyed before this returns.
  void Remove(Pumped& call) ABSL_LOCKS_EXCLUDED(mu_);
  /// Says that there may be something new. Never waits for a client.
  void Wake() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  using Shared = std::shared_ptr<Pumped>;  // Shared with a call in progress.

  void Run();
  /// Waits to be woken, or until it is time to look for clients that take nothing. Returns false
  /// when there is no more to do.
  [[nodiscard]] bool AwaitWork(std::vector<Shared>& work) ABSL_LOCKS_EXCLUDED(mu_);
  void EndStalled(const std::vector<Shared>& calls);

  // Constant after construction.
  const std::chrono::nanoseconds stall_limit_;

  // Of the thread.
  std::chrono::nanoseconds looked_{0};

  Mutex mu_;
  CondVar changed_;
  std::map<Pumped*, Shared> calls_ ABSL_GUARDED_BY(mu_);
  bool woken_ ABSL_GUARDED_BY(mu_) = false;
  bool closing_ ABSL_GUARDED_BY(mu_) = false;

  std::jthread thread_;
};

}  // namespace millrace::service
