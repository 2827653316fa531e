// Keeps snapshots of a network's weights until later predictions prove them good.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "pipeline/nn/network_state.h"

namespace millrace::pipeline {

/// A state that counts as good.
struct Snapshot {
  NetworkState state;
  /// Loss divided by the zero-output loss, over the window of predictions that proved it; 1 if it
  /// was not proven.
  double ratio = 1;
};

/// The number of snapshots until the oldest has proven good, if every sample gives information
/// about the weights. The number allows for a window of predictions, a snapshot every `copy_every`
/// samples, and the length of the pipeline.
[[nodiscard]] std::size_t MaxUnproven(int window, int copy_every);

/// The snapshots for a roll-back. Thread-safe. REQUIRES: Reset() is called first.
class SnapshotStore {
 public:
  /// Of the unproven snapshots, `max_unproven` (2 or more) are kept: the oldest, the newest, and a
  /// thinned selection between them.
  explicit SnapshotStore(std::size_t max_unproven) : max_unproven_(max_unproven) {}

  /// Restarts: `start` counts as good until another state has proven good.
  void Reset(NetworkState start) ABSL_LOCKS_EXCLUDED(mu_);

  /// Adds a newer state, which may prove good later. Ignores it and returns false unless all its
  /// numbers are finite.
  bool Add(NetworkState state) ABSL_LOCKS_EXCLUDED(mu_);

  /// The states up to `sample` have proven good (DivergenceDetector::proven()), by a window with
  /// this ratio. Returns the newest snapshot that this proves.
  std::optional<Snapshot> Prove(std::int64_t sample, double ratio) ABSL_LOCKS_EXCLUDED(mu_);

  /// The newest snapshot that has proven good. Discards all unproven ones.
  [[nodiscard]] Snapshot Settle() ABSL_LOCKS_EXCLUDED(mu_);

  /// Whether a state besides `start` has proven good.
  [[nodiscard]] bool any_proven() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  void Thin() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool TakeProven() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::size_t max_unproven_;
  mutable Mutex mu_;
  Snapshot good_ ABSL_GUARDED_BY(mu_);
  bool any_proven_ ABSL_GUARDED_BY(mu_) = false;
  std::deque<NetworkState> unproven_ ABSL_GUARDED_BY(mu_);  // The oldest first.
  // From the last Prove(). A state may be added after the sample that proves it, because stages
  // copy one by one.
  std::int64_t proven_ ABSL_GUARDED_BY(mu_) = -1;
  double ratio_ ABSL_GUARDED_BY(mu_) = 1;
};

}  // namespace millrace::pipeline
