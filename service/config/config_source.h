// Where a stream's frames come from, as the configuration file says it.
#pragma once

#include "service/config/config.h"
#include "service/config/config_value.h"

namespace millrace::service {

/// Reads a stream's `source`.
void ReadSource(const ConfigValue& value, StreamConfig& stream);

/// Notes in the errors of `stream`, a stream's node, what in its source does not fit together.
void CheckSource(const ConfigValue& stream, const StreamConfig& config);

}  // namespace millrace::service
