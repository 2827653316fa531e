// A network cut into stages, joined as a plan says: does the work of the plan's operations.
//
// The engine decides when; this decides what. Activations, gradients and skips lie in rings of
// exactly the plan's sizes, each place marked with its sample, and each gradient with whether it is
// real.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "pipeline/layer.h"
#include "pipeline/partition.h"
#include "pipeline/plan.h"
#include "pipeline/rmsprop.h"
#include "pipeline/schedules.h"
#include "pipeline/slot_ring.h"
#include "pipeline/stage.h"

namespace millrace::pipeline {

/// The stages that `cuts` makes of `chain`, first stage first. REQUIRES: CheckCuts() is OK.
[[nodiscard]] std::vector<Stage> CutIntoStages(const LayerChain& chain, const Cuts& cuts);

/// What a schedule must know of the stages: how many, and which skips pass a stage by.
[[nodiscard]] PipelineShape ShapeOf(const LayerChain& chain, const Cuts& cuts);

/// Judges the network's output for a sample and hands the prediction over. Returns the scalar to
/// minimise. Called on the last stage's thread, in the order of the samples.
using Judge = std::function<at::Tensor(std::int64_t sample, const at::Tensor& input,
                                       const at::Tensor& output)>;

/// Runs the steps of one plan. Each stage's steps may run on a thread of its own, as long as the
/// plan's dependencies are kept; updates() is thread-safe.
class StagedNetwork {
 public:
  struct Options {
    LayerChain chain;
    Cuts cuts;
    Plan plan;
    Judge judge;
    double learning_rate = 1e-4;
  };

  /// REQUIRES: the plan is for ShapeOf(chain, cuts).
  explicit StagedNetwork(Options options);
  ~StagedNetwork();

  StagedNetwork(const StagedNetwork&) = delete;
  StagedNetwork& operator=(const StagedNetwork&) = delete;

  /// Puts a sample's input where the first and the last stage read it: what Engine::Admit() calls.
  void Admit(std::int64_t sample, const at::Tensor& input);

  /// Does one operation. A gradient that is not finite goes no further: the stages before get one
  /// that is marked as not real, and none of them learns from the sample.
  void Run(const Step& step);

  /// Updates of each stage so far, first stage first.
  [[nodiscard]] std::vector<std::int64_t> updates() const;

  [[nodiscard]] const LayerChain& chain() const { return chain_; }

 private:
  struct Activations;
  struct StageState;
  struct ChannelState;

  void AddStage(Stage stage, double learning_rate);
  void Forward(StageState& stage, std::int64_t sample);
  void SendForward(const StageState& stage, std::int64_t sample, const Activations& made);
  void Backward(StageState& stage, std::int64_t sample);
  void SendBackward(const StageState& stage, std::int64_t sample, const Activations& kept,
                    bool real);
  void Update(StageState& stage);

  // Constant after construction; what it points to is ordered by the plan.
  const LayerChain chain_;
  const Cuts cuts_;
  const Plan plan_;
  const Judge judge_;
  std::vector<std::unique_ptr<ChannelState>> channels_;
  std::vector<std::unique_ptr<StageState>> stages_;
};

}  // namespace millrace::pipeline
