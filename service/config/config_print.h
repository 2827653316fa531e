// Prints the effective configuration with every default, and the JSON schema.
//
// Both are generated from the tables that read the configuration (config_describer.h).
#pragma once

#include <string>
#include <vector>

#include "service/config/config.h"

namespace millrace::service {

/// The effective configuration as YAML. Parsing it gives the same configuration, except for the
/// logins of URIs, which are left out. A key without a value becomes a comment. A key of another
/// kind of stream is left out.
[[nodiscard]] std::string PrintConfig(const Config& config);

/// The JSON Schema (draft 7) of a configuration file, for editors and other programs. The parser
/// rejects each file that the schema rejects, but accepts quoted numbers and booleans. It also
/// rejects contradictory keys, which the schema does not.
[[nodiscard]] std::string ConfigJsonSchema();

/// The keys outside `streams` whose values differ, such as "listen.grpc_port".
[[nodiscard]] std::vector<std::string> ChangedKeys(const Config& before, const Config& after);

}  // namespace millrace::service
