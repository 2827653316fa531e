// The operations of a stage on a GPU, captured once and launched for every sample.
//
// A sample has a lane, its number modulo as many as no ring of the plan has more places than. What
// a stage makes of a lane's samples lies in the same memory each time, so the stages behind and
// before, which take the same lane, read it where it lies: nothing is copied but what comes from
// another device.
//
//   lane 0   F ▷ outputs, what is kept    samples 0, 4, 8 ...     launched in turns, in the
//   lane 1   F ▷ outputs, what is kept    samples 1, 5, 9 ...     order of the plan
//   ...      B ▷ gradients of the inputs
//            U                            one for all lanes, for each version of the weights
//
// The first samples go without, so that LibTorch has chosen its algorithms, and gradients and the
// optimizer's memory are there. What cannot be captured goes without for good, and why() says why.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "pipeline/device/device_graphs.h"
#include "pipeline/optim/optimizer.h"
#include "pipeline/plan/plan.h"
#include "pipeline/stages/stage_work.h"
#include "pipeline/stages/weight_versions.h"

namespace millrace::pipeline {

/// So many that a lane's memory has been read for the last time when its next sample comes, and
/// that all samples of a lane read their stage's weights in the same place of VersionsHeld().
[[nodiscard]] int LaneCount(const Plan& plan);

/// For how many versions of its weights a captured stage has places: as many as any stage of the
/// plan, or one.
[[nodiscard]] int VersionsHeld(const Plan& plan, int stage);

/// Why the stage's operations cannot be captured under this plan; empty: as far as the plan goes
/// they can.
[[nodiscard]] std::string WhyPlanIsNotCaptured(const Plan& plan, int stage);

/// A tensor as it comes to a stage.
struct Arrived {
  at::Tensor tensor;
  /// As ChannelTensors::lasting.
  bool lasting = false;
  bool wants_gradient = false;
};
using Arrivals = c10::SmallVector<Arrived, 8>;

/// Memory that a graph reads.
class Inlet {
 public:
  /// Puts what arrived into the memory, the first time by making that of `arrived` its own, if it
  /// is on the device and lasting. False: it is not where it was then.
  [[nodiscard]] bool Feed(const Arrived& arrived, at::Device device);
  [[nodiscard]] const at::Tensor& memory() const { return memory_; }

 private:
  at::Tensor memory_;
  bool is_own_ = false;
};

/// Which of a lane's samples goes forward or back, and how.
struct Pass {
  std::int64_t lane = 0;    ///< The sample's number in the plan, modulo lanes.
  std::int64_t sample = 0;  ///< Its number in the stream.
  bool keeps_graph = true;
  std::int64_t version = 0;  ///< Of the weights that it reads.
};

/// For the thread of a stage, but for why().
class CapturedStage {
 public:
  /// What it holds of a lane. Lives as long as the captured stage.
  struct Lane {
    std::vector<Inlet> inlets;
    Inlet camera;
    ForwardMade made;
    bool keeps_graph = true;
    // Places of the weights that the graphs read.
    std::int64_t forward_reads = 0;
    std::int64_t backward_reads = 0;
    std::unique_ptr<DeviceGraph> forward;
    std::vector<Inlet> roots;
    Tensors gradients;
    std::unique_ptr<DeviceGraph> backward;
  };
  /// At least so many samples go forward, and back, before they are captured.
  static constexpr int kWarmUps = 3;

  struct Options {
    at::Device device;
    int lanes = 1;
    /// Outlive it.
    StageWork& work;
    Optimizer& optimizer;
    WeightVersions& versions;
  };

  /// Of each kind of operation.
  using Pools = std::array<std::unique_ptr<GraphPool>, kOperationKinds>;
  /// Fails as NewGraphPool().
  [[nodiscard]] static absl::StatusOr<Pools> NewPools(at::Device device);

  CapturedStage(const Options& options, Pools pools);

  /// nullptr: the sample has to go without.
  [[nodiscard]] Lane* Forward(const Pass& pass, const Arrivals& inputs, const Arrived& camera);
  /// The gradients of the inputs that want one. nullptr: likewise.
  [[nodiscard]] const Tensors* Backward(Lane& lane, const Pass& pass, const Arrivals& gradients);
  /// Fills the newest version and does the optimizer's step.
  void Update();

  /// Why operations go without, for good. Empty: they do not, or only the first. Thread-safe.
  [[nodiscard]] std::string why() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  [[nodiscard]] bool ReadsAsCaptured(const Lane& lane, const Pass& pass) const;
  [[nodiscard]] bool FeedForward(Lane& lane, const Arrivals& inputs, const Arrived& camera);
  [[nodiscard]] bool FeedBackward(Lane& lane, const Arrivals& gradients);
  [[nodiscard]] std::unique_ptr<DeviceGraph> Capture(OperationKind kind,
                                                     absl::FunctionRef<void()> work);
  void GiveUp(std::string why) ABSL_LOCKS_EXCLUDED(mu_);
  void CaptureForward(Lane& lane, const Pass& pass, const Arrivals& inputs);
  void CaptureBackward(Lane& lane, const Pass& pass);

  const Options options_;
  const Pools pools_;
  // So many of each kind go without.
  const int warm_ups_;
  std::vector<Lane> lanes_;
  std::vector<std::unique_ptr<DeviceGraph>> updates_of_;  // By the newest version's place.
  // That went without.
  int forwards_ = 0;
  int backwards_ = 0;
  int updates_ = 0;
  bool gave_up_ = false;
  mutable Mutex mu_;
  std::string why_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millrace::pipeline
