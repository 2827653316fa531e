// The command line of `millrace evaluate labels`.
#pragma once

#include "service/cli_app.h"
#include "service/cmd_evaluate_labels.h"

namespace millrace::service {

/// Adds the command `labels` to `evaluate`. It will write into `arguments`.
void AddEvaluateLabels(CLI::App& evaluate, EvaluateLabelsArguments& arguments);

}  // namespace millrace::service
