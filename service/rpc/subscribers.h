// Owns the streaming calls that gRPC still uses, and wakes them when there may be something to
// send.
//
// Predictions are published on the learner's thread, and making a message copies megabytes. So the
// publisher only notes its topic, and a thread here pumps the calls that follow it. That thread also
// ends the calls of clients that have stopped reading.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <set>
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
  /// The limit of calls: each may hold one or two messages of megabytes.
  static constexpr std::size_t kMost = 1000;

  /// Ends the call of a client that reads nothing for `stall_limit`. Pumps and checks every call
  /// ten times in that period.
  explicit Subscribers(std::chrono::nanoseconds stall_limit = std::chrono::seconds(10));
  ~Subscribers();

  Subscribers(const Subscribers&) = delete;
  Subscribers& operator=(const Subscribers&) = delete;

  /// RESOURCE_EXHAUSTED if there are already kMost calls.
  [[nodiscard]] absl::Status Add(std::shared_ptr<Pumped> call) ABSL_LOCKS_EXCLUDED(mu_);
  /// Removes `call`, which may be destroyed before this returns.
  void Remove(Pumped& call) ABSL_LOCKS_EXCLUDED(mu_);
  /// Wakes the thread to pump the calls of `topic`, which it only compares. Never waits for a client.
  void Wake(const void* topic) ABSL_LOCKS_EXCLUDED(mu_);
  /// Wakes the thread to pump every call.
  void WakeAll() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  using Shared = std::shared_ptr<Pumped>;  // Shared with a call in progress.

  /// What the thread does at a time.
  struct Round {
    std::vector<Shared> calls = {};
    bool of_all = false;  ///< `calls` are all there are; also look for stalled clients.
  };

  void Run();
  /// Waits for Wake() or for the next check of all calls. Returns false at the end.
  [[nodiscard]] bool AwaitWork(Round& round) ABSL_LOCKS_EXCLUDED(mu_);

  // Constant after construction.
  const std::chrono::nanoseconds stall_limit_;

  Mutex mu_;
  CondVar changed_;
  std::map<Pumped*, Shared> calls_ ABSL_GUARDED_BY(mu_);
  std::set<const void*> topics_ ABSL_GUARDED_BY(mu_);  // Of Wake().
  std::chrono::nanoseconds next_of_all_ ABSL_GUARDED_BY(mu_);
  bool closing_ ABSL_GUARDED_BY(mu_) = false;

  std::jthread thread_;
};

}  // namespace millrace::service
