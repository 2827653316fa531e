// The keys of the configuration file, as tables.
#pragma once

#include "service/config.h"
#include "service/config_value.h"

namespace millrace::service {

/// Reads the file's node into `config` and notes everything wrong in the node's errors.
void ReadConfig(const ConfigValue& root, Config& config);

}  // namespace millrace::service
