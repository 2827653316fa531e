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
//            U                            one for all lanes
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
#include "pipeline/device_graphs.h"
#include "pipeline/optimizer.h"
#include "pipeline/plan.h"
#include "pipeline/stage_work.h"

namespace millrace::pipeline {

/// So many that a lane's memory has been read for the last time when its next sample comes.
[[nodiscard]] int LaneCount(const Plan& plan);

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

/// For the thread of a stage, but for why().
class CapturedStage {
 public:
  /// What it holds of a lane. Lives as long as the captured stage.
  struct Lane {
    std::vector<Inlet> inlets;
    Inlet camera;
    ForwardMade made;
    bool keeps_graph = true;
    std::unique_ptr<DeviceGraph> forward;
    std::vector<Inlet> roots;
    Tensors gradients;
    std::unique_ptr<DeviceGraph> backward;
  };
  /// Samples that go forward, and back, before they are captured.
  static constexpr int kWarmUps = 3;

  struct Options {
    at::Device device;
    int lanes = 1;
    /// Outlive it.
    StageWork& work;
    Optimizer& optimizer;
  };

  /// Of each kind of operation.
  using Pools = std::array<std::unique_ptr<GraphPool>, kOperationKinds>;
  /// Fails as NewGraphPool().
  [[nodiscard]] static absl::StatusOr<Pools> NewPools(at::Device device);

  CapturedStage(const Options& options, Pools pools);

  /// `lane` is the sample's number in the plan, modulo lanes; `sample` that in the stream. nullptr:
  /// the sample has to go without.
  [[nodiscard]] Lane* Forward(std::int64_t lane, std::int64_t sample, const Arrivals& inputs,
                              const Arrived& camera, bool keeps_graph);
  /// The gradients of the inputs that want one. nullptr: likewise.
  [[nodiscard]] const Tensors* Backward(Lane& lane, std::int64_t sample, const Arrivals& gradients);
  /// The optimizer's step.
  void Update();

  /// Why operations go without, for good. Empty: they do not, or only the first. Thread-safe.
  [[nodiscard]] std::string why() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  [[nodiscard]] bool FeedForward(Lane& lane, const Arrivals& inputs, const Arrived& camera);
  [[nodiscard]] bool FeedBackward(Lane& lane, const Arrivals& gradients);
  [[nodiscard]] std::unique_ptr<DeviceGraph> Capture(OperationKind kind,
                                                     absl::FunctionRef<void()> work);
  void GiveUp(std::string why) ABSL_LOCKS_EXCLUDED(mu_);
  void CaptureForward(Lane& lane, std::int64_t sample, const Arrivals& inputs, bool keeps_graph);
  void CaptureBackward(Lane& lane, std::int64_t sample);

  const Options options_;
  const Pools pools_;
  std::vector<Lane> lanes_;
  std::unique_ptr<DeviceGraph> update_;
  // That went without.
  int forwards_ = 0;
  int backwards_ = 0;
  int updates_ = 0;
  bool gave_up_ = false;
  mutable Mutex mu_;
  std::string why_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millrace::pipeline
