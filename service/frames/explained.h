// Formats the share of the motion that a model explains, so that all outputs use the same words.
#pragma once

#include <string>

namespace millrace::service {

/// "explains 31 % of the motion", "explains none of the motion" if zero motion is the better guess,
/// or "explains -" without a zero-motion loss.
[[nodiscard]] std::string ExplainedText(double loss, double loss_no_motion);

/// "31 %", "none" or "-".
[[nodiscard]] std::string ExplainedShare(double loss, double loss_no_motion);

}  // namespace millrace::service
