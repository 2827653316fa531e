// A plan: the device, the samples and the order of every operation, repeated without limit.
//
// Every known way to pipeline learning is a plan. Plans differ in their order, the data that a
// stage keeps of a sample, and the version of the weights that each operation reads. A plan is
// data, so the same object is checked, simulated, drawn and run. It is the k-periodic pattern of
// Beaumont, Eyraud-Dubois and Shilova, "Pipelined model parallelism: complexity results and memory
// considerations", section 3.
//
//   one_f_one_b_star, 2 stages, T small        period 0   period 1   period 2
//     device 0   F1 shift 0, B1 U1 shift 1       F1(0)     F1(1) B1(0) U1(0)   F1(2) B1(1) U1(1)
//     device 1   F2 B2 U2 shift 1                          F2(0) B2(0) U2(0)   F2(1) B2(1) U2(1)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::pipeline {

/// A backward computes the gradients of a stage's inputs and weights. If the stage splits it
/// (StageRules), a weight gradient computes those of the weights later. These are B and W of Qi,
/// Wan, Huang and Lin, "Zero bubble pipeline parallelism", section 2. Between the two, a stage only
/// goes forward.
enum class OperationKind { kForward, kBackward, kWeightGradient, kUpdate };
inline constexpr int kOperationKinds = 4;

/// What a stage keeps of a sample for its backward.
enum class Keeps {
  kActivations,
  kInputs,  ///< Only its inputs: the forward runs again right before the backward.
};

/// The version of its stage's weights that a forward or backward reads. Version v is the one after
/// v updates.
struct WeightsRead {
  enum class Which {
    kCurrent,  ///< The newest one when the operation runs.
    kForward,  ///< Backwards only: the version that the sample's forward read.
    kLag,      ///< Version max(p - lag, 0), where p is the number of the sample's pattern.
  };
  Which which = Which::kCurrent;
  int lag = 0;

  friend bool operator==(const WeightsRead&, const WeightsRead&) = default;
};

/// One operation of the pattern. In period n its samples begin at k(n - shift) + first.
struct Operation {
  OperationKind kind = OperationKind::kForward;
  /// 1 is nearest the camera.
  int stage = 1;
  /// The first sample of the pattern that it covers, and the number of samples. A backward of
  /// several samples, and a weight gradient of several, processes them one by one, the last one
  /// first. An update applies the sum of their gradients.
  int first = 0;
  int count = 1;
  /// The number of patterns by which it runs behind the newest one.
  int shift = 0;
  /// For a backward only.
  Keeps keeps = Keeps::kActivations;
  /// For a forward or a backward.
  WeightsRead weights = {};

  friend bool operator==(const Operation&, const Operation&) = default;
};

/// The source of the gradient of a stage's output.
enum class GradientFrom {
  kNextStage,
  kOwnLoss,  ///< The stage's own loss, on its own output. No gradient crosses the cut behind it.
};

/// The rank (a process) that runs a stage, seen from the rank that has this plan (plan_part.h).
enum class StageRank {
  kOwn,
  kEarlier,  ///< Before all stages of this rank. Its operations here only carry tensors.
  kLater,    ///< The same, after all stages of this rank.
};

/// The buffers of a stage, and the activations that its backward multiplies.
struct StageRules {
  /// The backward of sample t uses the activations of sample t + lead.
  int lead = 0;
  /// Sets of stored activations (or inputs). The forward waits while all are in use.
  int slots = 1;
  /// Versions of the weights that are held. With one version, updates work in place.
  int versions = 1;
  /// The last stage always has its own loss.
  GradientFrom gradient = GradientFrom::kNextStage;
  /// Whether each backward has a weight gradient. Only forwards come between the two. It reads no
  /// weights, and frees the slots of the activations and of the gradients that arrived.
  bool splits_backward = false;
  StageRank rank = StageRank::kOwn;

  friend bool operator==(const StageRules&, const StageRules&) = default;
};

/// Carries activations from one stage to a later one, and gradients back: a bounded ring each way.
/// A full ring blocks its writer. Neighbours share one channel. A skip edge that crosses a cut has
/// its own channel: a portal past the stages between. Stage 0 is the camera, which takes no
/// gradient.
struct Channel {
  int from = 0;
  int to = 1;
  /// Slots for activations, on the way to the reader.
  int slots = 2;
  /// Slots for gradients, on the way back. In a self-timed run, a stage that learns early in its
  /// period sends gradients to one that learns late. At full load that takes two slots for each cut
  /// and one more.
  int gradient_slots = 3;

  friend bool operator==(const Channel&, const Channel&) = default;
};

/// A plan. Plain data: CheckPlan() says whether it can run.
struct Plan {
  /// The schedule that made it: "partime".
  std::string schedule;
  /// k: the pattern's length in samples.
  int samples_per_pattern = 1;
  /// Rules of stages 1 to D.
  std::vector<StageRules> stages;
  std::vector<Channel> channels;
  /// The operations of each device, in its order. A device runs nothing else.
  std::vector<std::vector<Operation>> devices;

  [[nodiscard]] int stage_count() const { return static_cast<int>(stages.size()); }
  /// REQUIRES: 1 <= stage <= stage_count().
  [[nodiscard]] const StageRules& rules(int stage) const { return stages.at(stage - 1); }
  /// Also of the camera, stage 0.
  [[nodiscard]] bool IsOwn(int stage) const {
    return stage == 0 || rules(stage).rank == StageRank::kOwn;
  }
  /// Whether `channel` begins or ends at a stage of this rank, or begins at the camera: each rank
  /// admits every sample. The others carry nothing here.
  [[nodiscard]] bool IsOwn(const Channel& channel) const {
    return IsOwn(channel.from) || IsOwn(channel.to);
  }
  /// The operation that is the last to read what a stage keeps of a sample, and that completes the
  /// gradients of its weights.
  [[nodiscard]] OperationKind LastOfBackward(int stage) const {
    return rules(stage).splits_backward ? OperationKind::kWeightGradient : OperationKind::kBackward;
  }
  /// Whether gradients travel back through `channel`.
  [[nodiscard]] bool CarriesGradients(const Channel& channel) const {
    return channel.from > 0 && rules(channel.from).gradient == GradientFrom::kNextStage;
  }

  friend bool operator==(const Plan&, const Plan&) = default;
};

/// An operation in one period: the samples from `first` to `last`.
struct Step {
  OperationKind kind = OperationKind::kForward;
  int stage = 1;
  std::int64_t first = 0;
  std::int64_t last = 0;

  [[nodiscard]] std::int64_t samples() const { return last - first + 1; }
  friend bool operator==(const Step&, const Step&) = default;
};

/// The step of `operation` in `period`. Negative samples: no work, the pipeline is still filling.
[[nodiscard]] Step StepOf(const Plan& plan, const Operation& operation, std::int64_t period);

/// The greatest lead of `stage` and of the stages that its gradient comes through. A backward of
/// sample t there needs sample t + this one.
[[nodiscard]] int LeadBehind(const Plan& plan, int stage);

/// Whether `step` runs at all when the stream ends after `samples` samples. A backward does not run
/// if its stage, or a stage behind it, lacks sample t + lead. Its update does not run either. The
/// backward of an earlier rank's stage runs if it has a gradient to send.
[[nodiscard]] bool Exists(const Plan& plan, const Step& step, std::int64_t samples);

/// 'F', 'B', 'W' or 'U'.
[[nodiscard]] char Letter(OperationKind kind);

/// "forward", "backward", "weight gradient" or "update".
[[nodiscard]] std::string_view Name(OperationKind kind);

/// "F2(17)"; "U1(4..7)".
[[nodiscard]] std::string ToString(const Step& step);

/// The pattern as text, a line for each device: "device 0   F1(0) F1(1) B1(0..1)-1". A number at
/// the end is the shift. "<-- here" follows `mark`, if `mark` is an operation of the plan.
[[nodiscard]] std::string PatternText(const Plan& plan, const Operation* mark = nullptr);

}  // namespace millrace::pipeline
