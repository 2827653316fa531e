// Checks of the configuration that involve more than one key.
#pragma once

#include <string_view>

#include "service/config/config.h"
#include "service/config/config_value.h"

namespace millrace::service {

/// The smallest side of a picture for optical flow, in pixels.
inline constexpr int kLeastFlowPicture = 64;

/// Notes the error `what` at `key` of `section` of `stream`, or at the stream if it lacks the key.
void WrongAt(const ConfigValue& stream, std::string_view section, std::string_view key,
             std::string_view what);

/// Note each contradiction in `config` in the errors of `stream`. `stream` is the YAML node that
/// `config` was read from, together with the file's defaults.
void CheckSchedule(const ConfigValue& stream, const StreamConfig& config);
void CheckModel(const ConfigValue& stream, const StreamConfig& config);

}  // namespace millrace::service
