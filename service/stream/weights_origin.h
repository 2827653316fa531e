// The origin of a model's weights without a checkpoint, for the banner and the log.
#pragma once

#include <string>

#include "service/config/config.h"

namespace millrace::service {

/// "random weights", "start.safetensors", or "the weights in mine.pt" for a user's network whose
/// weights no setting replaces.
[[nodiscard]] std::string DescribeOrigin(const StreamConfig& config);

}  // namespace millrace::service
