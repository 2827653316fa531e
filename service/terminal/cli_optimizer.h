// The optimizer's options, shared by several commands.
#pragma once

#include <string>

#include "pipeline/learner/optimizer_options.h"
#include "service/terminal/cli_app.h"

namespace millrace::service {

/// Adds --optimizer, --learning-rate and the optimizers' other options to `command`. `name` and
/// `optimizer` hold the defaults and must outlive `command`. `name` is not checked.
void AddOptimizer(CLI::App& command, std::string& name, pipeline::OptimizerOptions& optimizer);

}  // namespace millrace::service
