// Does the work of one stage of a network, as a plan says.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "pipeline/channel_rings.h"
#include "pipeline/dependencies.h"
#include "pipeline/judge.h"
#include "pipeline/optimizer.h"
#include "pipeline/partition.h"
#include "pipeline/plan.h"
#include "pipeline/slot_ring.h"
#include "pipeline/stage.h"
#include "pipeline/stage_buffers.h"
#include "pipeline/versions_read.h"
#include "pipeline/weight_versions.h"

namespace millrace::pipeline {

/// A plan at work: what its stages share. Constant but for what lies in the channels.
struct PlanAtWork {
  PlanAtWork(Plan p, std::int64_t first)
      : plan(std::move(p)), reads(plan), dependencies(plan), channels(plan), first_sample(first) {}

  const Plan plan;
  const VersionsRead reads;
  const Dependencies dependencies;
  Channels channels;
  /// What the plan calls sample 0.
  const std::int64_t first_sample;
};

/// One stage under one plan: its stored activations and versions of its weights. Its forwards may
/// run on another thread than its backwards and updates where the plan orders what they share.
class StageRunner {
 public:
  /// What outlives the runner.
  struct Parts {
    const Stage& stage;
    /// Where it computes.
    at::Device device;
    const Cuts& cuts;
    const Judge& judge;
    const LocalObjective& local_objective;
    Optimizer& optimizer;
    const std::atomic<double>& rate_scale;
    /// Counts gradients that were not finite, of weights and on the way to another stage.
    std::atomic<std::int64_t>& not_finite;
    std::uint64_t seed;
  };

  /// REQUIRES: `at_work` outlives it.
  StageRunner(int number, const Parts& parts, PlanAtWork& at_work);

  StageRunner(const StageRunner&) = delete;
  StageRunner& operator=(const StageRunner&) = delete;

  /// Returns whether there was anything to do: false for a backward that got no real gradient, and
  /// for an update that had none to apply.
  bool Run(const Step& step);

  /// Forgets gradients that no update has applied.
  void DropGradients();

 private:
  // What the backward of a sample needs of its forward.
  struct Kept {
    Tensors inputs;            // Leaves of the stage's graph.
    Tensors ends;              // Its ends: what leaves the stage, or its own loss.
    at::Tensor camera;         // For the stage's own loss, if that is made again.
    std::int64_t version = 0;  // Of the weights that the forward read.
  };
  // Where one wire of the stage lies: a place in the tensors that a channel carries.
  struct Connection {
    ChannelRings* rings;
    int place;
  };

  void Connect(const Cuts& cuts);
  [[nodiscard]] at::Tensor Here(const at::Tensor& tensor) const;
  void Forward(std::int64_t sample);
  void Send(std::int64_t sample, const Tensors& outputs);
  [[nodiscard]] at::Tensor OwnLoss(std::int64_t sample, const at::Tensor& camera,
                                   const at::Tensor& output, bool again) const;
  [[nodiscard]] bool Backward(std::int64_t sample);
  [[nodiscard]] std::uint64_t SeedOf(std::int64_t sample) const;
  void GoForwardAgain(std::int64_t sample, Kept& kept) const;
  // Whether the gradients of all ends are real: then `kept` has gone backward.
  [[nodiscard]] bool GoBackward(std::int64_t sample, const Kept& kept);
  void SendBack(std::int64_t sample, const Kept& kept, bool real);
  [[nodiscard]] bool Update();

  // Constant after construction.
  const int number_;
  const Parts parts_;
  PlanAtWork& at_work_;
  const bool has_own_loss_;
  ChannelRings* const camera_;  // What its own loss reads.
  std::vector<Connection> incoming_;
  std::vector<Connection> outgoing_;

  WeightVersions versions_;
  StageBuffers buffers_;
  SlotRing<Kept> kept_;
  // What autograd is given of a sample. Members, because it takes no less than vectors.
  std::vector<at::Tensor> roots_;
  std::vector<at::Tensor> root_gradients_;
  // Whether a real gradient came since the last update.
  bool has_gradient_ = false;
};

}  // namespace millrace::pipeline
