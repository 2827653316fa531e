// The keys of `source`: where a stream's frames come from.
#pragma once

#include "service/config/config.h"
#include "service/config/config_value.h"

namespace millrace::service {

/// Reads a stream's `source`.
void ReadSource(const ConfigValue& value, StreamConfig& stream);

/// Notes each contradiction in the source in the errors of `stream`, the stream's YAML node.
void CheckSource(const ConfigValue& stream, const StreamConfig& config);

}  // namespace millrace::service
