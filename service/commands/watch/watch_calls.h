// The pending calls of `millrace watch`: a signal, or a closed output, ends all of them.
#pragma once

#include <grpcpp/client_context.h>

#include <chrono>
#include <set>
#include <string>

#include "base/mutex.h"

namespace millrace::service {

/// Thread-safe. Must outlive each WatchCall.
class WatchCalls {
 public:
  /// Ends all pending calls, and each later call at once. Idempotent.
  void End() ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] bool ended() const ABSL_LOCKS_EXCLUDED(mu_);

  /// Waits for `pause` or until End(). Returns whether End() was called.
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

/// One call, for its lifetime. For one thread.
class WatchCall {
 public:
  /// `authorization`: sent with the call; empty: not sent.
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
