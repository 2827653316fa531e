// What each key of the configuration means, for its JSON schema: as samples/millrace.yaml says,
// which is part of the program.
#pragma once

#include <string_view>

#include "service/config/config_shape.h"

namespace millrace::service {

/// Gives each key of `schema` a `description`: the comment above it in `sample`, which has every
/// key, be it in a comment. Keys without a comment of their own share that of the key before.
void ExplainKeys(std::string_view sample, ConfigShape::Json& schema);

/// samples/millrace.yaml, as it was at build time.
[[nodiscard]] std::string_view SampleConfig();

}  // namespace millrace::service
