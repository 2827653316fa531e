// What of a configuration no single value can decide: keys that must agree with each other.
#pragma once

#include <string_view>

#include "service/config/config.h"
#include "service/config/config_value.h"

namespace millrace::service {

/// Pixels to a side.
inline constexpr int kLeastFlowPicture = 64;

/// Notes `what` at `key` of `section` of `stream` if the stream itself has it, else at the stream.
void WrongAt(const ConfigValue& stream, std::string_view section, std::string_view key,
             std::string_view what);

/// Note in the errors of `stream`, a stream's node, what does not fit together in `config`, which
/// was read from it and from the file's defaults.
void CheckSchedule(const ConfigValue& stream, const StreamConfig& config);
void CheckModel(const ConfigValue& stream, const StreamConfig& config);

}  // namespace millrace::service
