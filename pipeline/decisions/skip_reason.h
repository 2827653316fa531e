// The reasons why the model does not learn from a predicted sample.
#pragma once

#include <string_view>

namespace millrace::pipeline {

enum class SkipReason {
  kNone,  ///< The model learns from it.
  // Reasons from its pictures.
  kRepeated,  ///< The same picture again.
  kFrozen,    ///< The same picture for a long time.
  kCut,       ///< Another scene.
  // Reasons from its prediction.
  kNonFinite,      ///< The flow or its loss is not finite.
  kLeavesPicture,  ///< Almost the whole flow points out of the picture.
  kTooFast,        ///< The flow is longer than any real motion.
  // Other reasons.
  kRate,        ///< The rate leaves no time to learn from all samples.
  kPolicy,      ///< The sample teaches nothing new (UpdatePolicy).
  kUnlabelled,  ///< No label has arrived in time for its step.
  kHeld,        ///< An operator has frozen the learner.
};
inline constexpr int kSkipReasons = 11;

/// "repeated", "frozen", "cut", "non_finite", "leaves_picture", "too_fast", "rate", "policy",
/// "unlabelled", "held"; "none".
[[nodiscard]] constexpr std::string_view Name(SkipReason reason) {
  switch (reason) {
    case SkipReason::kNone:
      break;
    case SkipReason::kRepeated:
      return "repeated";
    case SkipReason::kFrozen:
      return "frozen";
    case SkipReason::kCut:
      return "cut";
    case SkipReason::kNonFinite:
      return "non_finite";
    case SkipReason::kLeavesPicture:
      return "leaves_picture";
    case SkipReason::kTooFast:
      return "too_fast";
    case SkipReason::kRate:
      return "rate";
    case SkipReason::kPolicy:
      return "policy";
    case SkipReason::kUnlabelled:
      return "unlabelled";
    case SkipReason::kHeld:
      return "held";
  }
  return "none";
}

}  // namespace millrace::pipeline
