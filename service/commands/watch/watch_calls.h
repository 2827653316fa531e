// The calls of `millrace watch` that are under way: a signal, or an output that nobody reads any
// more, ends all of them.
#pragma once

#include <grpcpp/client_context.h>

#include <chrono>
#include <set>
#include <string>

#include "base/mutex.h"

namespace millrace::service {

/// Thread-safe. Outlives each WatchCall.
class WatchCalls {
 public:
  /// Ends the calls under way, and each that begins from now on. Idempotent.
  void End() ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] bool ended() const ABSL_LOCKS_EXCLUDED(mu_);

  /// Waits for `pause`, but no longer than until the end. Returns whether it has come.
  bool Pause(std::chrono::milliseconds pause) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  friend class WatchCall;
  void Add(grpc::ClientContext& call) ABSL_LOCKS_EXCLUDED(mu_);
  void Remove(grpc::ClientContext& call) ABSL_LOCKS_EXCLUDED(mu_);

  mutable Mutex mu_;
  CondVar is_ended_;
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
  std::set<grpc::ClientContext*> calls_ ABSL_GUARDED_BY(mu_);
};

/// One of the calls, while it lives. For one thread.
class WatchCall {
 public:
  /// `authorization`: goes along, unless it is empty.
  WatchCall(WatchCalls& calls, const std::string& authorization);
  WatchCall(const WatchCall&) = delete;
  WatchCall& operator=(const WatchCall&) = delete;
  ~WatchCall();

  [[nodiscard]] grpc::ClientContext& context() { return context_; }

 private:
  WatchCalls& calls_;
  grpc::ClientContext context_;
};

}  // namespace millrace::service
