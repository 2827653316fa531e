// `millrace evaluate flow`: measures the quality of optical-flow learners.
#pragma once

#include <string>

#include "service/commands/evaluate/cli_evaluate_flow.h"

namespace millrace::service {

/// Runs the command and returns the program's exit code. Shows progress on standard error and
/// prints tables to standard output. `command`: the typed command line, for the report.
[[nodiscard]] int RunEvaluateFlow(EvaluateFlowArguments arguments, const std::string& command);

}  // namespace millrace::service
