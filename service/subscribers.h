// Keeps the subscriptions that gRPC still uses, and wakes them when there is something to send.
//
// Predictions are published on the learner's thread, and making a message of one copies megabytes.
// So the publisher only raises a flag, and a thread here does the rest.
#pragma once

#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "service/subscription.h"

namespace millrace::service {

/// Owns subscriptions from Add() to Remove(). Thread-safe. Destroying it waits until gRPC has let
/// go of every subscription, so the server must be shut down first.
class Subscribers {
 public:
  Subscribers();
  ~Subscribers();

  Subscribers(const Subscribers&) = delete;
  Subscribers& operator=(const Subscribers&) = delete;

  void Add(std::shared_ptr<Subscription> subscription) ABSL_LOCKS_EXCLUDED(mu_);
  /// Forgets `subscription`, which may be destroyed before this returns.
  void Remove(Subscription& subscription) ABSL_LOCKS_EXCLUDED(mu_);
  /// Says that a ring may have something new. Never waits for a subscriber.
  void Wake() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  using Shared = std::shared_ptr<Subscription>;  // Shared with a Pump() in progress.

  void Run();
  /// Waits to be woken. Returns false when there is no more to do.
  [[nodiscard]] bool AwaitWork(std::vector<Shared>& work) ABSL_LOCKS_EXCLUDED(mu_);

  Mutex mu_;
  CondVar changed_;
  std::map<Subscription*, Shared> subscriptions_ ABSL_GUARDED_BY(mu_);
  bool woken_ ABSL_GUARDED_BY(mu_) = false;
  bool closing_ ABSL_GUARDED_BY(mu_) = false;

  std::jthread thread_;
};

}  // namespace millrace::service
