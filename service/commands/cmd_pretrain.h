// `millrace pretrain`: trains the initial weights for streams.
#pragma once

#include "pipeline/offline/pretrain.h"

namespace millrace::service {

/// Runs the command, printing its progress, and returns the program's exit code.
[[nodiscard]] int RunPretrain(pipeline::PretrainOptions options);

}  // namespace millrace::service
