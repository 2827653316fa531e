// How the learned state of stages on other ranks comes to the leader, and back.
//
// The leader's store has all stages. A follower copies a stage while it learns, every `copy_every`
// samples, and at each pause and at the end, and sends the copy. So the leader's snapshots,
// checkpoints and answers need to know nothing about ranks.
//
//   follower: update of sample 99 ──── copy of its stage ───▶ leader's store, then on_copy()
//   both, in a pause:  all stages of the follower ──▶ leader ──▶ all stages of the follower
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "base/mutex.h"
#include "pipeline/plan/plan.h"
#include "pipeline/stages/network_store.h"
#include "pipeline/stages/stage_port.h"

namespace millrace::pipeline {

/// Whether a stage is copied after this update, if it is copied every `every` samples.
[[nodiscard]] inline bool IsCopied(const Step& update, std::int64_t every) {
  return (update.last + 1) / every != update.first / every;
}

/// The leader's side. For one thread, which has threads of its own for the other ranks.
class RankStates {
 public:
  /// Called with the update after which a stage was copied, once the store has the copy. The
  /// samples have the stream's numbers.
  using OnCopy = std::function<void(const Step& update)>;

  /// `on_copy` may be empty. The other arguments outlive it.
  RankStates(const RankWires& ranks, NetworkStore& store, OnCopy on_copy);
  /// REQUIRES: Wires::Abort() was called, or the stream has ended.
  ~RankStates() = default;

  RankStates(const RankStates&) = delete;
  RankStates& operator=(const RankStates&) = delete;

  /// Waits until all other ranks have sent their settled states (FollowerState::SendSettled()), and
  /// the store has them. Fails if a rank is lost.
  [[nodiscard]] absl::Status AwaitSettled() ABSL_LOCKS_EXCLUDED(mu_);

  /// Sends to each other rank the state of its stages.
  [[nodiscard]] absl::Status HandOut() const;

 private:
  void Receive(int rank) ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] absl::Status ReceiveOne(int rank, bool& last) ABSL_LOCKS_EXCLUDED(mu_);

  const RankWires& ranks_;
  NetworkStore& store_;
  const OnCopy on_copy_;

  Mutex mu_;
  CondVar changed_;
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
  int settled_ ABSL_GUARDED_BY(mu_) = 0;  // Ranks, since the last AwaitSettled().

  // By rank; each is for its receiver. What the rank has counted so far.
  std::vector<std::int64_t> not_finite_;
  std::vector<std::jthread> receivers_;
};

/// A follower's side. Thread-safe.
class FollowerState {
 public:
  /// The arguments outlive it.
  FollowerState(const RankWires& ranks, NetworkStore& store) : ranks_(ranks), store_(store) {}

  /// Sends a copy of the update's stage every RankWires::copy_every samples. On the stage's thread,
  /// after its update.
  [[nodiscard]] absl::Status SendCopyIfDue(const Step& update) const;
  /// Sends the state of all its stages. `last`: at the end of the stream. REQUIRES: no operation
  /// runs.
  [[nodiscard]] absl::Status SendSettled(bool last) const;
  /// Takes what RankStates::HandOut() sends. REQUIRES: no operation runs.
  [[nodiscard]] absl::Status Take() const;

 private:
  [[nodiscard]] absl::Status Send(const std::string& bytes) const ABSL_LOCKS_EXCLUDED(mu_);

  const RankWires& ranks_;
  NetworkStore& store_;
  mutable Mutex mu_;  // Held during a message: its length and its bytes belong together.
};

}  // namespace millrace::pipeline
