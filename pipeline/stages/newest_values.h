// What a network that learns has learned so far, put into another one that is asked.
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
  /// `asked`: of the same layers as the network that learns, on the CPU; must outlive it. Its
  /// values are this one's to change, and nobody else's to read but within Ask() and after Put().
  /// `threads`: LibTorch's, of who asks.
  NewestValues(const LayerChain& asked, int threads) : asked_(asked), threads_(threads) {}

  /// Puts the newest values of `learning` in place and calls `ask`, on the thread that calls, with
  /// how many updates those of the last stage have seen. Throws what LibTorch and `ask` throw.
  void Ask(const StagedNetwork& learning, const std::function<void(std::int64_t updates)>& ask)
      ABSL_LOCKS_EXCLUDED(mu_);

  /// Puts these in place.
  void Put(const std::vector<LayerState>& values) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  // Constant after construction.
  const LayerChain& asked_;
  const int threads_;

  Mutex mu_;

  // A stage waits while its values are copied: that must not wait for who asks, at a low priority.
  HelperThread copier_;
};

}  // namespace millrace::pipeline
