// `millrace pretrain`: makes the weights that a stream starts from.
#pragma once

#include "pipeline/offline/pretrain.h"

namespace millrace::service {

/// Runs the command, printing its progress, and returns the program's exit code.
[[nodiscard]] int RunPretrain(pipeline::PretrainOptions options);

}  // namespace millrace::service
