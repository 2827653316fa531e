// The command line of `millrace evaluate labels`.
#pragma once

#include "service/commands/evaluate/cmd_evaluate_labels.h"
#include "service/terminal/cli_app.h"

namespace millrace::service {

/// Adds the command `labels` to `evaluate`. Parsing writes to `arguments`.
void AddEvaluateLabels(CLI::App& evaluate, EvaluateLabelsArguments& arguments);

}  // namespace millrace::service
