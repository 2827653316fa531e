// Owns the streaming calls that gRPC still uses, and wakes them when there may be something to
// send.
//
// Predictions are published on the learner's thread, and making a message copies megabytes. So the
// publisher only notes its topic, and a thread here pumps the calls that follow it. That thread
// also ends the calls of clients that have stopped reading.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "base/mutex.h"

namespace millrace::service {

/// A streaming call. Thread-safe.
class StreamingCall {
 public:
  virtual ~StreamingCall() = default;

  /// A stalled client gets an error, and this multiple of the limit to read it before the call is
  /// cancelled.
  static constexpr int kLastChance = 5;

  /// Sends the next message, if there is one and no write is under way. Never waits for the client.
  /// Cheap without work.
  virtual void Pump() = 0;

  /// Ends the call if its client has read nothing for `limit`. The client gets an error. If it does
  /// not read that either, the call is cancelled later (kLastChance).
  virtual void EndIfStalled(std::chrono::nanoseconds now, std::chrono::nanoseconds limit) = 0;

  /// The object whose news this call sends: StreamingCalls::Wake() pumps the calls of one topic. At
  /// first the call itself.
  [[nodiscard]] const void* topic() const { return topic_; }

 protected:
  void Follow(const void* topic) { topic_ = topic; }

 private:
  std::atomic<const void*> topic_ = this;  // Only compared.
};

/// Owns calls from Add() to Remove(). Thread-safe. The destructor waits until gRPC has released
/// every call, so the server must be shut down first.
class StreamingCalls {
 public:
  /// The limit of calls: each may hold one or two messages of megabytes.
  static constexpr std::size_t kMax = 1000;

  /// Ends the call of a client that reads nothing for `stall_limit`. Pumps and checks every call
  /// ten times in that period, and at each WakeAll().
  explicit StreamingCalls(std::chrono::nanoseconds stall_limit = std::chrono::seconds(10));
  ~StreamingCalls();

  StreamingCalls(const StreamingCalls&) = delete;
  StreamingCalls& operator=(const StreamingCalls&) = delete;

  /// RESOURCE_EXHAUSTED if there are already kMax calls.
  [[nodiscard]] absl::Status Add(std::shared_ptr<StreamingCall> call) ABSL_LOCKS_EXCLUDED(mu_);
  /// Removes `call`, which may be destroyed before this returns.
  void Remove(StreamingCall& call) ABSL_LOCKS_EXCLUDED(mu_);
  /// Wakes the thread to pump the calls of `topic`, which it only compares. Never waits for a
  /// client.
  void Wake(const void* topic) ABSL_LOCKS_EXCLUDED(mu_);
  /// Wakes the thread to pump every call.
  void WakeAll() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  using Shared = std::shared_ptr<StreamingCall>;  // Shared with a call in progress.

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
  std::map<StreamingCall*, Shared> calls_ ABSL_GUARDED_BY(mu_);
  std::set<const void*> topics_ ABSL_GUARDED_BY(mu_);  // Of Wake().
  std::chrono::nanoseconds next_of_all_ ABSL_GUARDED_BY(mu_);
  bool closing_ ABSL_GUARDED_BY(mu_) = false;

  std::jthread thread_;
};

}  // namespace millrace::service
