// A plan: which device does which operation of which sample, in which order, for ever.
//
// Every known way to pipeline learning is one of these: a different order, and different choices of
// what a stage keeps. A plan is data, so the same object is checked, simulated, and run: what is
// drawn is what runs. It is the k-periodic pattern of Beaumont, Eyraud-Dubois and Shilova,
// "Pipelined model parallelism: complexity results and memory considerations", section 3.
//
//   one_f_one_b_star, 2 stages, T small        period 0   period 1   period 2
//     device 0   F1 shift 0, B1 U1 shift 1       F1(0)     F1(1) B1(0) U1(0)   F1(2) B1(1) U1(1)
//     device 1   F2 B2 U2 shift 1                          F2(0) B2(0) U2(0)   F2(1) B2(1) U2(1)
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace millrace::pipeline {

enum class OperationKind { kForward, kBackward, kUpdate };
inline constexpr int kOperationKinds = 3;

/// One operation of the pattern. In period n it works on the samples from k(n - shift) + first on.
struct Operation {
  OperationKind kind = OperationKind::kForward;
  /// 1 is nearest the camera.
  int stage = 1;
  /// The first sample of the pattern that it covers, and how many follow it.
  int first = 0;
  int count = 1;
  /// By how many patterns it runs behind the newest one.
  int shift = 0;
};

/// What a stage keeps, and what its backward multiplies.
struct StageRules {
  /// The backward of sample t uses the activations of sample t + lead.
  int lead = 0;
  /// Sets of stored activations: the forward waits while all are in use.
  int slots = 1;
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
};

/// An operation in one period: the samples from `first` to `last`.
struct Step {
  OperationKind kind = OperationKind::kForward;
  int stage = 1;
  std::int64_t first = 0;
  std::int64_t last = 0;

  friend bool operator==(const Step&, const Step&) = default;
};

/// What `operation` does in `period`. Negative samples: nothing, the pipeline is still filling.
[[nodiscard]] Step StepOf(const Plan& plan, const Operation& operation, std::int64_t period);

/// Whether `step` has all it needs to exist when the stream ends after `samples` samples. A
/// backward that lacks sample t + lead of its own stage or of one behind it does not, nor does its
/// update.
[[nodiscard]] bool Exists(const Plan& plan, const Step& step, std::int64_t samples);

/// "F2(17)"; "U1(4..7)".
[[nodiscard]] std::string ToString(const Step& step);

}  // namespace millrace::pipeline
