// A stage's operations on a GPU, captured once and launched for every sample.
//
// A sample's lane is its number modulo the number of lanes. No ring of the plan has more places
// than there are lanes. All samples of a lane use the same memory in a stage. The neighbouring
// stages use the same lane, so they read that memory directly. Only tensors from another device are
// copied.
//
//   lane 0   F ▷ outputs, kept tensors    samples 0, 4, 8 ...     launched in turn, in the
//   lane 1   F ▷ outputs, kept tensors    samples 1, 5, 9 ...     order of the plan
//   ...      B ▷ gradients of the inputs
//            U                            one for all lanes, for each version of the weights
//
// The first samples run eagerly, so that LibTorch has chosen its algorithms, and gradients and the
// optimizer's state exist. Operations that cannot be captured always run eagerly; why() says why.
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

/// The number of lanes. It is large enough that a lane's memory is no longer needed when the lane's
/// next sample arrives. All samples of a lane read their stage's weights at the same place of
/// VersionsHeld().
[[nodiscard]] int LaneCount(const Plan& plan);

/// The number of weight versions that a captured stage holds: the maximum over all stages of the
/// plan, or one.
[[nodiscard]] int VersionsHeld(const Plan& plan, int stage);

/// Why the stage's operations cannot be captured under this plan; empty if the plan permits it.
[[nodiscard]] std::string WhyPlanIsNotCaptured(const Plan& plan, int stage);

/// A tensor that arrives at a stage.
struct Arrived {
  at::Tensor tensor;
  /// See ChannelTensors::lasting.
  bool lasting = false;
  bool wants_gradient = false;
};
using Arrivals = c10::SmallVector<Arrived, 8>;

/// The memory of one input of a graph.
class Inlet {
 public:
  /// Copies `arrived` into the memory. The first call chooses the memory: that of `arrived`,
  /// without any copies, if it is lasting and on the device; otherwise new memory. Returns false if
  /// `arrived` does not fit: it has moved, or has another shape.
  [[nodiscard]] bool Feed(const Arrived& arrived, at::Device device);
  [[nodiscard]] const at::Tensor& memory() const { return memory_; }

 private:
  at::Tensor memory_;
  bool is_own_ = false;
};

/// Describes one forward or backward of a lane's sample.
struct Pass {
  std::int64_t lane = 0;    ///< The sample's number in the plan, modulo lanes.
  std::int64_t sample = 0;  ///< The sample's number in the stream.
  bool keeps_graph = true;
  std::int64_t version = 0;  ///< The version of the weights that it reads.
};

/// Captures and launches one stage's operations. For the stage's thread, except why().
class CapturedStage {
 public:
  /// The memory and graphs of one lane. Lives as long as the captured stage.
  struct Lane {
    std::vector<Inlet> inlets;
    Inlet camera;
    ForwardMade made;
    bool keeps_graph = true;
    // The places of the weights that the graphs read.
    std::int64_t forward_reads = 0;
    std::int64_t backward_reads = 0;
    std::unique_ptr<DeviceGraph> forward;
    std::vector<Inlet> roots;
    Tensors gradients;
    std::unique_ptr<DeviceGraph> backward;
  };
  /// At least this number of samples go forward, and backward, before the capture.
  static constexpr int kWarmUps = 3;

  struct Options {
    at::Device device;
    int lanes = 1;
    /// These outlive the captured stage.
    StageWork& work;
    Optimizer& optimizer;
    WeightVersions& versions;
  };

  /// One pool for each kind of operation.
  using Pools = std::array<std::unique_ptr<GraphPool>, kOperationKinds>;
  /// Fails as NewGraphPool().
  [[nodiscard]] static absl::StatusOr<Pools> NewPools(at::Device device);

  CapturedStage(const Options& options, Pools pools);

  /// nullptr: the sample must run eagerly.
  [[nodiscard]] Lane* Forward(const Pass& pass, const Arrivals& inputs, const Arrived& camera);
  /// The gradients of the inputs that want one. nullptr: the sample must run eagerly.
  [[nodiscard]] const Tensors* Backward(Lane& lane, const Pass& pass, const Arrivals& gradients);
  /// Fills the newest version and runs the optimizer's step.
  void Update();

  /// Why operations always run eagerly. Empty if they are captured, or will be. Thread-safe.
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
  // This number of operations of each kind run eagerly first.
  const int warm_ups_;
  std::vector<Lane> lanes_;
  std::vector<std::unique_ptr<DeviceGraph>> updates_of_;  // Indexed by the newest version's place.
  // Operations that ran eagerly.
  int forwards_ = 0;
  int backwards_ = 0;
  int updates_ = 0;
  bool gave_up_ = false;
  mutable Mutex mu_;
  std::string why_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millrace::pipeline
