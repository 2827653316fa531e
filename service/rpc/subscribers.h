// Owns the streaming calls that gRPC still uses, and wakes them when there may be something to
// send.
//
// Predictions are published on the learner's thread, and making a message copies megabytes. So the
// publisher only sets a flag, and a thread here does the rest. It also ends the calls of clients
// that have stopped reading.
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

/// Owns calls from Add() to Remove(). Thread-safe. The destructor waits until gRPC has released
/// every call, so the server must be shut down first.
class Subscribers {
 public:
  /// The limit of calls: each may hold one or two messages of megabytes, and the thread visits them
  /// all.
  static constexpr std::size_t kMost = 1000;

  /// Ends the call of a client that reads nothing for `stall_limit`.
  explicit Subscribers(std::chrono::nanoseconds stall_limit = std::chrono::seconds(10));
  ~Subscribers();

  Subscribers(const Subscribers&) = delete;
  Subscribers& operator=(const Subscribers&) = delete;

  /// RESOURCE_EXHAUSTED if there are already kMost calls.
  [[nodiscard]] absl::Status Add(std::shared_ptr<Pumped> call) ABSL_LOCKS_EXCLUDED(mu_);
  /// Removes `call`, which may be destroyed before this returns.
  void Remove(Pumped& call) ABSL_LOCKS_EXCLUDED(mu_);
  /// Wakes the thread to pump every call. Never waits for a client.
  void Wake() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  using Shared = std::shared_ptr<Pumped>;  // Shared with a call in progress.

  void Run();
  /// Waits for Wake() or for the next check for stalled clients. Returns false at the end.
  [[nodiscard]] bool AwaitWork(std::vector<Shared>& work) ABSL_LOCKS_EXCLUDED(mu_);
  void EndStalled(const std::vector<Shared>& calls);

  // Constant after construction.
  const std::chrono::nanoseconds stall_limit_;

  // Used only by the thread.
  std::chrono::nanoseconds looked_{0};

  Mutex mu_;
  CondVar changed_;
  std::map<Pumped*, Shared> calls_ ABSL_GUARDED_BY(mu_);
  bool woken_ ABSL_GUARDED_BY(mu_) = false;
  bool closing_ ABSL_GUARDED_BY(mu_) = false;

  std::jthread thread_;
};

}  // namespace millrace::service
