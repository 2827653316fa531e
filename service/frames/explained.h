// How much of the motion a model explains, in words: the same wherever it is said.
#pragma once

#include <string>

namespace millrace::service {

/// "explains 31 % of the motion"; "explains none of the motion" where no motion is the better
/// guess; "explains -" without a loss of no motion.
[[nodiscard]] std::string ExplainedText(double loss, double loss_no_motion);

/// "31 %", "none" or "-".
[[nodiscard]] std::string ExplainedShare(double loss, double loss_no_motion);

}  // namespace millrace::service
