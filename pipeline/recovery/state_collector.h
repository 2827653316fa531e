// Takes copies of a network while it learns, without holding it up: each stage copies itself, on
// its own thread, right after it was due to learn from the same sample.
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

/// Puts the copies of all stages together. Thread-safe where nothing else is said.
class StateCollector {
 public:
  /// Every how many samples a copy is taken (at least 1), and who gets it: called on the thread of
  /// the stage that is last.
  StateCollector(int every, std::function<void(NetworkState)> on_complete);

  /// To be called as StagedNetwork::Options::on_update, with the network that calls.
  void OnUpdate(const StagedNetwork& network, const Step& update) ABSL_LOCKS_EXCLUDED(mu_);

  /// Forgets what is not complete. REQUIRES: nothing runs.
  void Restart() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  using ByStage = std::map<int, std::vector<LayerState>>;

  const std::int64_t every_;
  const std::function<void(NetworkState)> on_complete_;

  Mutex mu_;
  std::map<std::int64_t, ByStage> collected_ ABSL_GUARDED_BY(mu_);  // By sample.
};

}  // namespace millrace::pipeline
