// `millrace evaluate flow`: what learners of optical flow are worth.
#pragma once

#include <string>

#include "service/commands/evaluate/cli_evaluate_flow.h"

namespace millrace::service {

/// Runs the command, with its progress on standard error and tables on standard output, and returns
/// the program's exit code. `command`: the line that was typed, for the record.
[[nodiscard]] int RunEvaluateFlow(EvaluateFlowArguments arguments, const std::string& command);

}  // namespace millrace::service
