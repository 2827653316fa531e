// The version of the weights that each operation of a plan reads, and the data that it keeps, by
// sample.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "pipeline/plan/plan.h"

namespace millrace::pipeline {

/// Looks up a plan's choices for a sample. Constant after construction. The plan need not outlive
/// it.
class VersionsRead {
 public:
  /// REQUIRES: every stage has each of its kinds of operations once for each sample.
  explicit VersionsRead(const Plan& plan) : samples_per_pattern_(plan.samples_per_pattern) {
    for (auto& by_stage : reads_) {
      by_stage.assign(plan.stage_count() + 1, std::vector<Read>(samples_per_pattern_));
    }
    for (const auto& order : plan.devices) {
      for (const Operation& operation : order) {
        auto& reads = reads_[static_cast<int>(operation.kind)][operation.stage];
        for (int i = 0; i < operation.count; ++i) {
          reads.at(operation.first + i) = {operation.weights, operation.keeps};
        }
      }
    }
  }

  /// The version that `stage` reads in the forward or backward of `sample`. `updates` is the number
  /// of updates of its weights, and `forward` the version that the sample's forward read.
  [[nodiscard]] std::int64_t Version(OperationKind kind, int stage, std::int64_t sample,
                                     std::int64_t updates, std::int64_t forward) const {
    const WeightsRead& weights = At(kind, stage, sample).weights;
    switch (weights.which) {
      case WeightsRead::Which::kForward:
        return forward;
      case WeightsRead::Which::kLag: {
        const std::int64_t version = sample / samples_per_pattern_ - weights.lag;
        return version > 0 ? version : 0;
      }
      case WeightsRead::Which::kCurrent:
        break;
    }
    return updates;
  }

  /// What `stage` keeps of `sample` for its backward.
  [[nodiscard]] Keeps keeps(int stage, std::int64_t sample) const {
    return At(OperationKind::kBackward, stage, sample).keeps;
  }

 private:
  struct Read {
    WeightsRead weights;
    Keeps keeps = Keeps::kActivations;
  };

  [[nodiscard]] const Read& At(OperationKind kind, int stage, std::int64_t sample) const {
    return reads_[static_cast<int>(kind)][stage][sample % samples_per_pattern_];
  }

  std::int64_t samples_per_pattern_;
  std::array<std::vector<std::vector<Read>>, kOperationKinds> reads_;
};

}  // namespace millrace::pipeline
