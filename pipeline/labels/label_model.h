// A copy of a network that learns from labels, which answers questions while the other one learns.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include "pipeline/learner/label_task_options.h"
#include "pipeline/learner/learner_options.h"
#include "pipeline/nn/layer.h"
#include "pipeline/nn/network_state.h"
#include "pipeline/nn/stage.h"

namespace millrace::pipeline {

/// Consecutive samples of `shape` in memory as one batch. Borrows `values`; no code writes to them.
[[nodiscard]] at::Tensor BatchOf(std::span<const float> values, std::vector<std::int64_t> shape);

/// The network at one moment. Not thread-safe.
class LabelModel {
 public:
  /// `chain`: a second network with the same layers.
  LabelModel(LayerChain chain, const LearnerOptions& options, const LabelTaskOptions& task);

  void Take(const std::vector<LayerState>& layers);
  [[nodiscard]] const LayerChain& chain() const { return chain_; }

  /// The outputs (as in ModelPrediction) for consecutive samples in `values`. REQUIRES: `values`
  /// holds whole samples, at least one.
  [[nodiscard]] std::vector<std::vector<float>> Outputs(std::span<const float> values) const;

 private:
  const LayerChain chain_;
  const Stage whole_;
  const std::vector<std::int64_t> shape_;
  const LabelTask task_;
  const std::uint64_t seed_;
};

}  // namespace millrace::pipeline
