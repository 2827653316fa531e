// The keys of `listen`: the server's ports, and which clients may use them.
#pragma once

#include "service/config/config.h"
#include "service/config/config_value.h"

namespace millrace::service {

void ReadListen(const ConfigValue& value, Listen& listen);

/// Notes errors for duplicate ports, and for secrets or predictions that would leave this machine
/// in plain text without explicit permission. `root` is the file's YAML node.
void CheckListen(const ConfigValue& root, const Listen& listen);

}  // namespace millrace::service
