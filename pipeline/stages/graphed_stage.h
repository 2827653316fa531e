// A stage's operations on a GPU as CUDA graphs, captured once and launched for every sample.
//
// A sample's slot is its number modulo the number of slots. No ring of the plan has more places
// than there are slots. All samples of a slot use the same memory in a stage. The neighbouring
// stages use the same slot, so they read that memory directly. Only tensors from another device are
// copied.
//
//   slot 0   F ▷ outputs, kept tensors    samples 0, 4, 8 ...     launched in turn, in the
//   slot 1   F ▷ outputs, kept tensors    samples 1, 5, 9 ...     order of the plan
//   ...      B ▷ gradients of the inputs
//            W, of a split backward
//            U                            one for all slots, for each version of the weights
//
// The first samples run eagerly, so that LibTorch has chosen its algorithms, and gradients and the
// optimizer's state exist. Operations that cannot be captured always run eagerly; why_eager() has
// the reason.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "pipeline/device/device_graphs.h"
#include "pipeline/ops/weight_gradients.h"
#include "pipeline/optim/optimizer.h"
#include "pipeline/plan/plan.h"
#include "pipeline/stages/stage_work.h"
#include "pipeline/stages/weight_versions.h"

namespace millrace::pipeline {

/// The number of slots. It is large enough that a slot's memory is no longer needed when the slot's
/// next sample arrives. All samples of a slot read their stage's weights at the same place of
/// VersionsHeld().
[[nodiscard]] int SlotCount(const Plan& plan);

/// The number of weight versions that a graphed stage holds: the maximum over all stages of the
/// plan, or one.
[[nodiscard]] int VersionsHeld(const Plan& plan, int stage);

/// Why the stage's operations cannot be captured under this plan; empty if the plan permits it.
[[nodiscard]] std::string WhyPlanIsNotCaptured(const Plan& plan, int stage);

/// A tensor that another stage or the camera sends to a stage.
struct IncomingTensor {
  at::Tensor tensor;
  /// See ChannelTensors::stable_address.
  bool stable_address = false;
  bool requires_grad = false;
};
using IncomingTensors = c10::SmallVector<IncomingTensor, 8>;

/// The memory of one input of a graph. Its address is the same for every launch.
class StaticInput {
 public:
  /// Copies `input` into the memory. The first call chooses the memory. If the address of
  /// `input` is stable and on the device, it is `input` itself, without any copies. Otherwise it is
  /// new memory. Returns false if `input` does not fit: it has another address or another shape.
  [[nodiscard]] bool Feed(const IncomingTensor& input, at::Device device);
  [[nodiscard]] const at::Tensor& memory() const { return memory_; }

 private:
  at::Tensor memory_;
  bool is_own_ = false;
};

/// One forward or backward of a slot's sample.
struct SampleOperation {
  std::int64_t slot = 0;    ///< The sample's number in the plan, modulo slots.
  std::int64_t sample = 0;  ///< The sample's number in the stream.
  bool keeps_graph = true;
  std::int64_t version = 0;  ///< The version of the weights that it reads.
};

/// Captures and launches one stage's operations. For the stage's thread, except why_eager().
class GraphedStage {
 public:
  /// The memory and graphs of one slot. Lives as long as the graphed stage.
  struct Slot {
    std::vector<StaticInput> inputs;
    StaticInput camera;
    Activations activations;
    bool keeps_graph = true;
    // The places of the weights that the graphs read.
    std::int64_t forward_reads = 0;
    std::int64_t backward_reads = 0;
    std::unique_ptr<DeviceGraph> forward;
    std::vector<StaticInput> roots;
    Tensors gradients;
    std::unique_ptr<DeviceGraph> backward;
    // The gradients that the graph of a split backward has left. They read the slot's memory.
    WeightGradients left;
    std::unique_ptr<DeviceGraph> weight_gradient;
  };
  /// At least this number of samples go forward, and backward, before the capture.
  static constexpr int kWarmUps = 3;

  struct Options {
    at::Device device;
    int slots = 1;
    /// These outlive the graphed stage.
    StageWork& work;
    Optimizer& optimizer;
    WeightVersions& versions;
    bool splits_backward = false;
  };

  /// The memory of the graphs.
  struct Pools {
    std::vector<std::unique_ptr<GraphPool>> forward;  ///< One per slot.
    /// One per slot, or none: then a backward uses its forward's pool.
    std::vector<std::unique_ptr<GraphPool>> backward;
    std::unique_ptr<GraphPool> update;  ///< No tensor of an update outlives it.
  };
  /// Fails as NewGraphPool().
  [[nodiscard]] static absl::StatusOr<Pools> NewPools(at::Device device, const Plan& plan);

  GraphedStage(const Options& options, Pools pools);

  /// Launches the forward. nullptr: the sample must run eagerly.
  [[nodiscard]] Slot* Forward(const SampleOperation& operation, const IncomingTensors& inputs,
                              const IncomingTensor& camera);
  /// Launches the backward. Returns the gradients of the inputs that require one. nullptr: the
  /// sample must run eagerly.
  [[nodiscard]] const Tensors* Backward(Slot& slot, const SampleOperation& operation,
                                        const IncomingTensors& gradients);
  /// Launches the weight gradient of the backward that was launched in the slot.
  void WeightGradient(Slot& slot, std::int64_t slot_number);
  /// Fills the newest version and runs the optimizer's step.
  void Update();

  /// Why operations always run eagerly. Empty if they are captured, or will be. Thread-safe.
  [[nodiscard]] std::string why_eager() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  [[nodiscard]] bool Matches(const Slot& slot, const SampleOperation& operation) const;
  [[nodiscard]] bool FeedInputs(Slot& slot, const IncomingTensors& inputs,
                                const IncomingTensor& camera);
  [[nodiscard]] bool FeedGradients(Slot& slot, const IncomingTensors& gradients);
  [[nodiscard]] std::unique_ptr<DeviceGraph> Capture(GraphPool& pool,
                                                     absl::FunctionRef<void()> work);
  // Whether the next operation of a kind runs eagerly, after `count` eager ones.
  [[nodiscard]] bool RunsEagerly(int count) const { return stays_eager_ || count < warm_ups_; }
  // All later operations run eagerly.
  void StayEager(std::string why) ABSL_LOCKS_EXCLUDED(mu_);
  void CaptureForward(Slot& slot, const SampleOperation& operation, const IncomingTensors& inputs);
  void CaptureBackward(Slot& slot, const SampleOperation& operation);
  [[nodiscard]] GraphPool& PoolOfBackward(std::int64_t slot) const;

  const Options options_;
  const Pools pools_;
  // This number of operations of each kind run eagerly first.
  const int warm_ups_;
  std::vector<Slot> slots_;
  std::vector<std::unique_ptr<DeviceGraph>> updates_of_;  // Indexed by the newest version's place.
  // Operations that ran eagerly, by kind.
  int forwards_ = 0;
  int backwards_ = 0;
  int updates_ = 0;
  bool stays_eager_ = false;
  mutable Mutex mu_;
  std::string why_eager_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millrace::pipeline
