// Decides which samples to learn from: most frames of a camera teach nothing new.
//
// The policies are those of Marullo, Tiezzi and Betti, "Continual unsupervised learning for optical
// flow estimation with deep networks", CoLLAs 2022. Each learns from every sample while it warms
// up. An option can force it to learn at regular intervals.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/decisions/flow_motion.h"

namespace millrace::pipeline {

struct UpdatePolicyOptions {
  enum class Kind {
    kEvery,  ///< Every n-th sample.
    kMag,    ///< Enough of the picture moves.
    kDiff,   ///< The picture changes.
    kDiv,    ///< The mean motion differs from that at the last update.
  };
  Kind kind = Kind::kEvery;
  /// kEvery: n; 1: every sample. Counts by the samples' own numbers, as the rate limit does, so
  /// that the two select common samples.
  int every = 1;
  /// kMag: the share of pixels that must move by more than moving_pixels.
  double moving_share = 0.02;
  double moving_pixels = 0.2;
  /// kDiff: the mean difference of a pixel from the picture before, of 0 to 1.
  double difference = 0.001;
  /// kDiv: the change of the mean flow, relative to its length at the last update.
  double divergence = 0.05;
  /// The number of first samples that are all learned from.
  std::int64_t warm_up = 0;
  /// Selects at the latest the n-th sample after the last selected one. 0: off.
  int force_after = 0;
};

/// "every", "mag", "diff", "div".
[[nodiscard]] const std::vector<std::string>& UpdatePolicyNames();
[[nodiscard]] absl::StatusOr<UpdatePolicyOptions::Kind> UpdatePolicyKind(std::string_view name);

/// Fails with INVALID_ARGUMENT, saying what is allowed, if an option is out of range.
[[nodiscard]] absl::Status CheckUpdatePolicy(const UpdatePolicyOptions& options);

/// The figures that a policy reads.
struct SampleFigures {
  std::int64_t sample = 0;
  /// Mean difference of a pixel between the two pictures, of 0 to 1.
  double difference = 0;
  /// Set only if the policy needs it.
  FlowMotion motion = {};
};

/// A running policy. Call it once for each sample, in order, from one thread.
class UpdatePolicy {
 public:
  /// `first_sample`: the number of its first sample. REQUIRES: CheckUpdatePolicy(options) is OK.
  UpdatePolicy(const UpdatePolicyOptions& options, std::int64_t first_sample);

  /// Whether Learns() reads the motion, which is known only after the prediction of a flow.
  [[nodiscard]] bool needs_motion() const {
    return options_.kind == UpdatePolicyOptions::Kind::kMag ||
           options_.kind == UpdatePolicyOptions::Kind::kDiv;
  }

  /// Whether to learn from this sample.
  [[nodiscard]] bool Learns(const SampleFigures& figures);

  [[nodiscard]] const UpdatePolicyOptions& options() const { return options_; }

 private:
  [[nodiscard]] bool Wants(const SampleFigures& figures) const;
  [[nodiscard]] bool IsForced(std::int64_t sample) const;

  const UpdatePolicyOptions options_;
  const std::int64_t first_sample_;
  // Of the last selected sample; before the first, of no sample.
  std::int64_t last_sample_;
  FlowMotion last_motion_;
};

}  // namespace millrace::pipeline
