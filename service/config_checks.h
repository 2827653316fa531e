// What of a configuration no single value can decide: keys that must agree with each other.
#pragma once

#include "service/config.h"
#include "service/config_value.h"

namespace millrace::service {

/// Note in the errors of `stream`, a stream's node, what does not fit together in `config`, which
/// was read from it and from the file's defaults.
void CheckSchedule(const ConfigValue& stream, const StreamConfig& config);
void CheckModel(const ConfigValue& stream, const StreamConfig& config);
void CheckSource(const ConfigValue& stream, const StreamConfig& config);

/// Notes ports that are given twice. `root` is the file's node.
void CheckPorts(const ConfigValue& root, const Listen& listen);

}  // namespace millrace::service
