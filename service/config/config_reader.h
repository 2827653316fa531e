// Reads YAML with tables of keys.
#pragma once

#include "service/config/config_key.h"

namespace millrace::service {

/// Reads `section`, a mapping, into `target`: each of `keys` that it has, in the order of the
/// table. Unknown, repeated and missing keys, and keys for other tasks, are errors. Notes every
/// error; a key with an error keeps its value.
void ReadSection(const ConfigValue& section, ConfigKeys keys, const ConfigTarget& target);

}  // namespace millrace::service
