// Does the work of one stage of a network, as a plan says.
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
#include "pipeline/optim/optimizer.h"
#include "pipeline/plan/cuts.h"
#include "pipeline/plan/dependencies.h"
#include "pipeline/plan/plan.h"
#include "pipeline/plan/versions_read.h"
#include "pipeline/stages/captured_stage.h"
#include "pipeline/stages/channel_rings.h"
#include "pipeline/stages/judge.h"
#include "pipeline/stages/stage_values.h"
#include "pipeline/stages/stage_work.h"
#include "pipeline/stages/weight_versions.h"

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
    const Judge& local_judge;
    Optimizer& optimizer;
    const std::atomic<double>& rate_scale;
    /// Counts gradients that were not finite, of weights and on the way to another stage.
    std::atomic<std::int64_t>& not_finite;
    StageValues& values;
    std::uint64_t seed;
    /// Whether it captures its operations, where that can be done.
    bool captures;
  };

  /// REQUIRES: `at_work` outlives it.
  StageRunner(int number, const Parts& parts, PlanAtWork& at_work);

  StageRunner(const StageRunner&) = delete;
  StageRunner& operator=(const StageRunner&) = delete;

  /// Returns whether there was anything to do: false for a backward that got no real gradient, and
  /// for an update that had none to apply.
  bool Run(const Step& step);

  /// Why operations on a GPU are launched kernel by kernel. Empty: they are not, or only the first.
  /// Thread-safe.
  [[nodiscard]] std::string why_not_captured() const;

  /// Forgets gradients that no update has applied.
  void DropGradients();

 private:
  // What the backward of a sample needs of its forward.
  struct Kept {
    ForwardMade own;
    CapturedStage::Lane* lane = nullptr;  // Has it instead.
    bool learns = true;                   // By the stage's own loss.
    std::int64_t version = 0;             // Of the weights that the forward read.

    [[nodiscard]] ForwardMade& made() { return lane != nullptr ? lane->made : own; }
  };
  // Where one wire of the stage lies: a place in the tensors that a channel carries.
  struct Connection {
    ChannelRings* rings;
    int place;
  };

  // Gradients of a sample as they come to its ends.
  struct ArrivedGradients {
    Arrivals of_ends;
    bool real = true;
  };
  // And as they leave for the stages before.
  struct Sent {
    Tensors of_inputs;
    bool lasting = false;
  };

  void Connect(const Cuts& cuts);
  void CaptureIfPossible();
  [[nodiscard]] bool Do(const Step& step);
  [[nodiscard]] const Judge* OwnJudge() const;
  [[nodiscard]] std::int64_t InStream(std::int64_t sample) const {
    return at_work_.first_sample + sample;
  }
  [[nodiscard]] Arrivals InputsOf(std::int64_t sample) const;
  [[nodiscard]] Arrived CameraOf(std::int64_t sample) const;
  [[nodiscard]] ArrivedGradients GradientsOf(std::int64_t sample) const;
  void Forward(std::int64_t sample);
  void GoForward(std::int64_t sample, bool measure, Kept& kept);
  void Send(std::int64_t sample, const Tensors& outputs, bool lasting);
  [[nodiscard]] bool Backward(std::int64_t sample);
  // With the gradients of `sample`, from what the forward of `used` keeps. Nothing: the loss is not
  // finite.
  [[nodiscard]] std::optional<Sent> GoBackward(std::int64_t used, std::int64_t sample,
                                               const Arrivals& gradients);
  [[nodiscard]] std::optional<Sent> GoBackwardByOperators(std::int64_t used, std::int64_t sample,
                                                          const Arrivals& gradients);
  void SendBack(std::int64_t sample, const std::optional<Sent>& sent);
  [[nodiscard]] bool Update();

  // Constant after construction.
  const int number_;
  const Parts parts_;
  PlanAtWork& at_work_;
  StageWork work_;
  ChannelRings* const camera_;  // What its own loss reads.
  std::vector<Connection> incoming_;
  std::vector<Connection> outgoing_;

  WeightVersions versions_;
  // Between updates whoever reads the stage's values finds the newest of them, whole. A plan that
  // keeps one version may have forwards and backwards run at the same time.
  const bool values_stay_;
  const int lanes_;
  std::string why_not_captured_;             // As far as the plan and the network go.
  std::unique_ptr<CapturedStage> captured_;  // Null: that is why.
  SlotRing<Kept> kept_;
  // Whether a real gradient came since the last update.
  bool has_gradient_ = false;
};

}  // namespace millrace::pipeline
