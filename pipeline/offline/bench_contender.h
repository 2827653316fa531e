// The contenders of a benchmark: networks that learn, each in its own way.
#pragma once

#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "absl/status/statusor.h"
#include "pipeline/nn/layer.h"
#include "pipeline/offline/bench_turn.h"
#include "pipeline/optim/optimizer.h"
#include "pipeline/plan/cuts.h"
#include "pipeline/plan/plan.h"

namespace millrace::pipeline {

/// The loss of every network: the mean of the squares of its output.
[[nodiscard]] at::Tensor BenchLoss(const at::Tensor& output);

/// A contender. It keeps its weights between turns. For one thread.
class BenchContender {
 public:
  virtual ~BenchContender() = default;

  /// Learns from `count` samples, rounded up to whole patterns, and from extra ones that fill and
  /// empty the pipeline. Reuses `samples` in a cycle.
  [[nodiscard]] virtual absl::StatusOr<BenchTurn> Take(const std::vector<at::Tensor>& samples,
                                                       int count) = 0;
};

/// Runs autograd over the whole chain on `device`, with `threads` threads for each operation.
[[nodiscard]] std::unique_ptr<BenchContender> MakeSequentialContender(
    LayerChain chain, int threads, const OptimizerOptions& optimizer, at::Device device = at::kCPU);

/// Runs all `copies` at once, each on its own thread. This is the rate of the machine's threads if
/// no thread waits for another. Rates are sums; delay and CPU time are means.
[[nodiscard]] std::unique_ptr<BenchContender> MakeCopiesContender(
    std::vector<std::unique_ptr<BenchContender>> copies);

/// The cuts and the plan of a chain, and how it runs.
struct StagedContenderOptions {
  Cuts cuts;
  Plan plan;
  int threads_per_stage = 1;
  OptimizerOptions optimizer;
  at::Device device = at::kCPU;
  /// On a GPU: as StagedNetwork::Options.
  bool captures = false;
};

/// Runs `options.plan` in the engine. REQUIRES: the plan is for ShapeOf(chain, cuts).
[[nodiscard]] std::unique_ptr<BenchContender> MakeStagedContender(LayerChain chain,
                                                                  StagedContenderOptions options);

}  // namespace millrace::pipeline
