// Runs the operations of one stage of a network under a plan.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "pipeline/engine/slot_ring.h"
#include "pipeline/nn/stage.h"
#include "pipeline/ops/weight_gradients.h"
#include "pipeline/optim/optimizer.h"
#include "pipeline/plan/cuts.h"
#include "pipeline/plan/plan.h"
#include "pipeline/stages/channel_rings.h"
#include "pipeline/stages/graphed_stage.h"
#include "pipeline/stages/loss.h"
#include "pipeline/stages/running_plan.h"
#include "pipeline/stages/stage_parameter_lock.h"
#include "pipeline/stages/stage_work.h"
#include "pipeline/stages/weight_versions.h"

namespace millrace::pipeline {

/// One stage under one plan, with its stored activations and versions of its weights. Forwards may
/// run on another thread than backwards and updates, if the plan orders their accesses.
class StageRunner {
 public:
  /// The runner's dependencies. They outlive it.
  struct Parts {
    const Stage& stage;
    /// The device on which it computes.
    at::Device device;
    const Cuts& cuts;
    Loss* loss;        ///< Of the last stage.
    Loss* local_loss;  ///< For a stage before the last. May be null.
    Optimizer& optimizer;
    /// Counts gradients that are not finite, of weights and of tensors for another stage.
    std::atomic<std::int64_t>& not_finite;
    StageParameterLock& parameter_lock;
    std::uint64_t seed;
    /// Whether it captures its operations if possible.
    bool captures;
  };

  /// REQUIRES: `running_plan` outlives it.
  StageRunner(int number, const Parts& parts, RunningPlan& running_plan);

  StageRunner(const StageRunner&) = delete;
  StageRunner& operator=(const StageRunner&) = delete;

  /// Runs the forwards of the step's samples, in order.
  void Forward(const Step& step);
  /// Runs the backwards of the step's samples, from the last to the first. Returns false if one of
  /// them had no valid gradient.
  bool Backward(const Step& step);
  /// Adds the gradients of the weights that split backwards have left, from the last sample to the
  /// first. Returns false if one of them had no valid gradient.
  bool WeightGradient(const Step& step);
  /// Multiplies the learning rate by `rate_scale`. Returns false without a valid gradient to apply.
  bool Update(double rate_scale);

  /// Why operations on a GPU run eagerly. Empty if they are captured, or will be, or if a layer of
  /// the stage computes on the host. Thread-safe.
  [[nodiscard]] std::string why_not_captured() const;

  /// Discards gradients that no update has applied.
  void DropGradients();

 private:
  // A sample's forward, until its backward has ended.
  struct ForwardContext {
    Activations own;
    GraphedStage::Slot* slot = nullptr;  // If set, it holds the activations instead of `own`.
    bool may_learn = false;              // Loss::MayLearn().
    bool learns = true;                  // Loss::OnPredicted().
    bool keeps_graph = true;
    std::int64_t version = 0;  // Of the weights that the forward read.
    // After a split backward.
    WeightGradients left = {};
    bool was_launched = false;  // As a graph of the slot; then the slot has what is left.
    bool worked = false;

    [[nodiscard]] Activations& activations() { return slot != nullptr ? slot->activations : own; }
  };
  // A wire's place in the tensors of a channel.
  struct Connection {
    ChannelRings* rings;
    int place;
  };

  // The gradients of a sample at the stage's ends.
  struct EndGradients {
    IncomingTensors tensors;
    bool valid = true;
  };
  // The gradients of a stage's inputs, for the stages before.
  struct InputGradients {
    Tensors tensors;
    bool stable_address = false;
  };

  void Connect(const Cuts& cuts);
  void CaptureIfPossible();
  [[nodiscard]] Loss* OwnLoss() const;
  [[nodiscard]] std::int64_t InStream(std::int64_t sample) const {
    return running_plan_.first_sample + sample;
  }
  [[nodiscard]] IncomingTensors InputsOf(std::int64_t sample) const;
  [[nodiscard]] IncomingTensor CameraOf(std::int64_t sample) const;
  // Launches the forward's graph, or takes the inputs of an eager forward.
  [[nodiscard]] ForwardContext BeginForward(std::int64_t sample);
  void EndForward(std::int64_t sample, ForwardContext context);
  void Send(std::int64_t sample, const Tensors& outputs, bool stable_address);

  [[nodiscard]] EndGradients GradientsOf(std::int64_t sample, const ForwardContext& context) const;
  // nullopt: the sample has no valid gradient.
  [[nodiscard]] std::optional<InputGradients> BackwardOf(std::int64_t sample,
                                                         ForwardContext& context);
  // nullopt: the backward must run eagerly.
  [[nodiscard]] std::optional<InputGradients> LaunchBackward(const ForwardContext& context,
                                                             const SampleOperation& operation,
                                                             const EndGradients& gradients);
  // nullopt: the loss is not finite.
  [[nodiscard]] std::optional<InputGradients> RunBackward(Activations& activations,
                                                          const EndGradients& gradients,
                                                          bool keep_graph);
  // Returns whether the backward had a valid gradient.
  bool EndBackward(std::int64_t sample, std::optional<InputGradients> gradients);
  void SendBack(std::int64_t sample, const std::optional<InputGradients>& gradients);

  // Constant after construction.
  const int number_;
  const Parts parts_;
  RunningPlan& running_plan_;
  StageWork work_;
  ChannelRings* const camera_;  // The input of its own loss.
  std::vector<Connection> incoming_;
  std::vector<Connection> outgoing_;

  WeightVersions versions_;
  // Forwards and backwards then need no lock. With one version, the plan may run them concurrently.
  const bool only_updates_write_;
  const bool splits_backward_;
  const int slots_;
  std::string why_not_captured_;          // A reason in the plan or the network.
  std::unique_ptr<GraphedStage> graphs_;  // Null if why_not_captured_ has a reason.
  SlotRing<ForwardContext> contexts_;
  // Whether a valid gradient arrived since the last update.
  bool has_gradient_ = false;
};

}  // namespace millrace::pipeline
