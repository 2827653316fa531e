// What a model's weights are where it has no checkpoint to go on from: for the banner and the log.
#pragma once

#include <string>

#include "service/config/config.h"

namespace millrace::service {

/// "random weights", "start.safetensors", "the weights in mine.pt", of a network of one's own whose
/// weights nothing replaces.
[[nodiscard]] std::string DescribeOrigin(const StreamConfig& config);

}  // namespace millrace::service
