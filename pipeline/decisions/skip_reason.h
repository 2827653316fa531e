// Why a sample is predicted, but not learned from.
#pragma once

#include <string_view>

namespace millrace::pipeline {

enum class SkipReason {
  kNone,  ///< It is learned from.
  // Of its pictures.
  kRepeated,  ///< The same picture again.
  kFrozen,    ///< The same picture for long.
  kCut,       ///< Another scene.
  // Of its prediction.
  kNonFinite,      ///< The flow or its loss is not finite.
  kLeavesPicture,  ///< The flow points out of the picture almost everywhere.
  kTooFast,        ///< The flow is longer than anything moves.
  // Of neither.
  kRate,        ///< There is no time to learn from all samples.
  kPolicy,      ///< It teaches nothing new (UpdatePolicy).
  kUnlabelled,  ///< No label has come that its step could learn from.
  kHeld,        ///< Whoever runs the learner has frozen it.
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
