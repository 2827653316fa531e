#include "pipeline/recovery/snapshot_store.h"

#include <algorithm>
#include <utility>

namespace millrace::pipeline {

std::size_t MaxUnproven(int window, int copy_every) {
  return static_cast<std::size_t>(window / std::max(copy_every, 1)) + 3;
}

void SnapshotStore::Reset(NetworkState start) {
  const MutexLock lock(mu_);
  good_ = {.state = std::move(start)};
  any_proven_ = false;
  unproven_.clear();
}

bool SnapshotStore::Add(NetworkState state) {
  if (!AllFinite(state)) return false;
  const MutexLock lock(mu_);
  if (unproven_.size() >= max_unproven_) Thin();
  unproven_.push_back(std::move(state));
  return true;
}

std::optional<Snapshot> SnapshotStore::Prove(std::int64_t sample, double ratio) {
  const MutexLock lock(mu_);
  proven_ = sample;
  ratio_ = ratio;
  return TakeProven() ? std::optional(good_) : std::nullopt;
}

Snapshot SnapshotStore::Settle() {
  const MutexLock lock(mu_);
  TakeProven();
  unproven_.clear();
  return good_;
}

bool SnapshotStore::any_proven() const {
  const MutexLock lock(mu_);
  return any_proven_;
}

// Keeps the oldest state, which is the first to prove good. Replacing it by newer ones would never
// prove a state.
void SnapshotStore::Thin() {
  std::deque<NetworkState> kept;
  for (std::size_t i = 0; i < unproven_.size(); i += 2) kept.push_back(std::move(unproven_[i]));
  unproven_ = std::move(kept);
}

// Returns whether a state has proven good.
bool SnapshotStore::TakeProven() {
  bool any = false;
  while (!unproven_.empty() && unproven_.front().sample <= proven_) {
    good_ = {.state = std::move(unproven_.front()), .ratio = ratio_};
    unproven_.pop_front();
    any = any_proven_ = true;
  }
  return any;
}

}  // namespace millrace::pipeline
