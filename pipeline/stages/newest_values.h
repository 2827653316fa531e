// Copies the newest weights of a learning network into another network, which answers questions.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/helper_thread.h"
#include "base/mutex.h"
#include "pipeline/nn/layer.h"
#include "pipeline/nn/network_state.h"
#include "pipeline/stages/staged_network.h"

namespace millrace::pipeline {

/// Serves one question at a time. Thread-safe.
class NewestValues {
 public:
  /// `network`: a network with the same layers as the learning one, on the CPU; must outlive this
  /// object. Only this object changes its values. Callers may read them only within Ask() and after
  /// Put(). `threads`: the number of LibTorch's threads for a question.
  NewestValues(const LayerChain& network, int threads) : network_(network), threads_(threads) {}

  /// Copies the newest values of `learning`, then calls `ask` on the calling thread with the number
  /// of updates of the last stage. Throws exceptions of LibTorch and `ask`.
  void Ask(const StagedNetwork& learning, const std::function<void(std::int64_t updates)>& ask)
      ABSL_LOCKS_EXCLUDED(mu_);

  /// Copies `values` into the network.
  void Put(const std::vector<LayerState>& values) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  // Constant after construction.
  const LayerChain& network_;
  const int threads_;

  Mutex mu_;

  // A stage waits while its values are copied. This thread copies, so that a caller with a low
  // priority does not delay the stage.
  HelperThread copier_;
};

}  // namespace millrace::pipeline
