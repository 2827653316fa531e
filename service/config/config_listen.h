// The keys of `listen`: where the server can be reached, and by whom.
#pragma once

#include "service/config/config.h"
#include "service/config/config_value.h"

namespace millrace::service {

void ReadListen(const ConfigValue& value, Listen& listen);

/// Notes what does not fit together: ports that are given twice, and secrets or predictions that
/// would leave this machine in plain text without being asked to. `root` is the file's node.
void CheckListen(const ConfigValue& root, const Listen& listen);

}  // namespace millrace::service
