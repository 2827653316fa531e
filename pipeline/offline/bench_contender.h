// What takes turns in a benchmark: a network that learns, in one way or another.
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

/// Keeps its weights from turn to turn. For one thread.
class BenchContender {
 public:
  virtual ~BenchContender() = default;

  /// Learns from `count` samples or, where a pattern has several, a few more, and from some that
  /// fill and empty it. `samples` are used again and again.
  [[nodiscard]] virtual absl::StatusOr<BenchTurn> Take(const std::vector<at::Tensor>& samples,
                                                       int count) = 0;
};

/// Autograd over the whole chain on `device`, with `threads` threads in an operation.
[[nodiscard]] std::unique_ptr<BenchContender> MakeSequentialContender(
    LayerChain chain, int threads, const OptimizerOptions& optimizer, at::Device device = at::kCPU);

/// All of `copies` at once, each on a thread of its own: what the threads of a machine can do when
/// none waits for another. Rates add up; delay and CPU time are means.
[[nodiscard]] std::unique_ptr<BenchContender> MakeCopiesContender(
    std::vector<std::unique_ptr<BenchContender>> copies);

/// What a chain is cut into, and how it runs.
struct StagedContenderOptions {
  Cuts cuts;
  Plan plan;
  int threads_per_stage = 1;
  OptimizerOptions optimizer;
  at::Device device = at::kCPU;
  /// On a GPU: as StagedNetwork::Options.
  bool captures = false;
};

/// `options.plan` in the engine. REQUIRES: the plan is for ShapeOf(chain, cuts).
[[nodiscard]] std::unique_ptr<BenchContender> MakeStagedContender(LayerChain chain,
                                                                  StagedContenderOptions options);

}  // namespace millrace::pipeline
