// Copies a network while it learns, without delaying it. Each stage copies its own weights, on its
// own thread, right after its update for the same sample.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "pipeline/nn/network_state.h"
#include "pipeline/stages/staged_network.h"

namespace millrace::pipeline {

/// Combines the copies of all stages. Thread-safe, except where noted.
class SnapshotCollector {
 public:
  /// Copies the network every `every` samples (at least 1). Calls `on_complete` on the thread of
  /// the last stage to finish.
  SnapshotCollector(int every, std::function<void(NetworkState)> on_complete);

  /// Use it as StagedNetwork::Options::on_update, with the calling network.
  void OnUpdate(const StagedNetwork& network, const Step& update) ABSL_LOCKS_EXCLUDED(mu_);

  /// Discards incomplete copies. REQUIRES: nothing runs.
  void Restart() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  using ByStage = std::map<int, std::vector<LayerState>>;

  const std::int64_t every_;
  const std::function<void(NetworkState)> on_complete_;

  Mutex mu_;
  std::map<std::int64_t, ByStage> collected_ ABSL_GUARDED_BY(mu_);  // By sample.
};

}  // namespace millrace::pipeline
