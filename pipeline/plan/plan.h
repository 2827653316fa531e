// A plan: which device does which operation of which sample, in which order, for ever.
//
// Every known way to pipeline learning is one of these: a different order, and different choices of
// what a stage keeps of a sample and which version of its weights each operation reads. A plan is
// data, so the same object is checked, simulated, drawn and run: what is drawn is what runs. It is
// the k-periodic pattern of Beaumont, Eyraud-Dubois and Shilova, "Pipelined model parallelism:
// complexity results and memory considerations", section 3.
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

enum class OperationKind { kForward, kBackward, kUpdate };
inline constexpr int kOperationKinds = 3;

/// What a stage keeps of a sample for its backward.
enum class Keeps {
  kActivations,
  kInputs,  ///< Its inputs only: the forward is run again right before the backward.
};

/// Which version of its stage's weights a forward or backward reads. Version v is the one after v
/// updates.
struct WeightsRead {
  enum class Which {
    kCurrent,  ///< The newest, whichever that is in the order of the stage's device.
    kForward,  ///< Backwards only: the version that the sample's forward read.
    kLag,      ///< Version max(p - lag, 0), where p is the number of the sample's pattern.
  };
  Which which = Which::kCurrent;
  int lag = 0;

  friend bool operator==(const WeightsRead&, const WeightsRead&) = default;
};

/// One operation of the pattern. In period n it works on the samples from k(n - shift) + first on.
struct Operation {
  OperationKind kind = OperationKind::kForward;
  /// 1 is nearest the camera.
  int stage = 1;
  /// The first sample of the pattern that it covers, and how many follow it. A backward that covers
  /// several goes through them one by one, the last one first; an update applies the sum of their
  /// gradients.
  int first = 0;
  int count = 1;
  /// By how many patterns it runs behind the newest one.
  int shift = 0;
  /// Of a backward.
  Keeps keeps = Keeps::kActivations;
  /// Of a forward or backward.
  WeightsRead weights = {};

  friend bool operator==(const Operation&, const Operation&) = default;
};

/// Where the gradient of a stage's output comes from.
enum class GradientFrom {
  kNextStage,
  kOwnLoss,  ///< The stage's own loss, on its own output: none crosses the cut behind it.
};

/// What a stage keeps, and what its backward multiplies.
struct StageRules {
  /// The backward of sample t uses the activations of sample t + lead.
  int lead = 0;
  /// Sets of stored activations (or inputs): the forward waits while all are in use.
  int slots = 1;
  /// Versions of the weights that are held. With one, updates work in place.
  int versions = 1;
  /// The last stage always has its own loss.
  GradientFrom gradient = GradientFrom::kNextStage;

  friend bool operator==(const StageRules&, const StageRules&) = default;
};

/// Carries activations from one stage to a later one, and gradients back: a bounded ring each way.
/// A full ring holds its writer. Neighbours have one; a skip edge that crosses a cut has one of its
/// own, a portal past the stages between. Stage 0 is the camera, which takes no gradient.
struct Channel {
  int from = 0;
  int to = 1;
  /// For activations, on the way to the reader.
  int slots = 2;
  /// For gradients, on the way back. Run self-timed, a stage that learns early in its period hands
  /// gradients to one that learns late in its own: at full load two slots a cut and one more are in
  /// use.
  int gradient_slots = 3;

  friend bool operator==(const Channel&, const Channel&) = default;
};

/// A plan. Plain data: whether it can run is for CheckPlan() to say.
struct Plan {
  /// What made it: "partime".
  std::string schedule;
  /// k: the pattern's length in samples.
  int samples_per_pattern = 1;
  /// Rules of stages 1 to D.
  std::vector<StageRules> stages;
  std::vector<Channel> channels;
  /// The operations of each device, in its order. A device runs its order and nothing else.
  std::vector<std::vector<Operation>> devices;

  [[nodiscard]] int stage_count() const { return static_cast<int>(stages.size()); }
  /// REQUIRES: 1 <= stage <= stage_count().
  [[nodiscard]] const StageRules& rules(int stage) const { return stages.at(stage - 1); }
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

/// What `operation` does in `period`. Negative samples: nothing, the pipeline is still filling.
[[nodiscard]] Step StepOf(const Plan& plan, const Operation& operation, std::int64_t period);

/// Whether `step` has all it needs to exist when the stream ends after `samples` samples. A
/// backward that lacks sample t + lead of its own stage or of one behind it does not, nor does its
/// update.
[[nodiscard]] bool Exists(const Plan& plan, const Step& step, std::int64_t samples);

/// 'F', 'B' or 'U'.
[[nodiscard]] char Letter(OperationKind kind);

/// "forward", "backward" or "update".
[[nodiscard]] std::string_view Name(OperationKind kind);

/// "F2(17)"; "U1(4..7)".
[[nodiscard]] std::string ToString(const Step& step);

/// The pattern as text, a line a device: "device 0   F1(0) F1(1) B1(0..1)-1". A number at the end
/// is the shift. `mark`, if it is an operation of the plan, is followed by "<-- here".
[[nodiscard]] std::string PatternText(const Plan& plan, const Operation* mark = nullptr);

}  // namespace millrace::pipeline
