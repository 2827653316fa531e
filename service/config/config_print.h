// The configuration made known: as it is in force, with every default, and as a JSON schema.
//
// Both come from the tables that read it (config_shape.h).
#pragma once

#include <string>
#include <vector>

#include "service/config/config.h"

namespace millrace::service {

/// All that holds, as YAML: read again, it is the same configuration, but for the logins of URIs,
/// which are not told. A key that holds nothing is a comment; one that is for other kinds of
/// streams is left out.
[[nodiscard]] std::string PrintConfig(const Config& config);

/// What a configuration file may say, as JSON Schema, draft 7: for editors and other programs. What
/// it refuses, the parser refuses, but for numbers, true and false in quotes. The parser refuses
/// more: keys that do not fit together.
[[nodiscard]] std::string ConfigJsonSchema();

/// The keys outside `streams` that do not hold the same in both, as "listen.grpc_port".
[[nodiscard]] std::vector<std::string> ChangedKeys(const Config& before, const Config& after);

}  // namespace millrace::service
