// The options of all commands that let a user choose how to learn.
#pragma once

#include <string>

#include "pipeline/learner/optimizer_options.h"
#include "service/terminal/cli_app.h"

namespace millrace::service {

/// Adds --optimizer, --learning-rate and what optimizers have besides to `command`. `name` and
/// `optimizer`, with their defaults, outlive it; the name is not checked.
void AddOptimizer(CLI::App& command, std::string& name, pipeline::OptimizerOptions& optimizer);

}  // namespace millrace::service
