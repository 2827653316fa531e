// Adds the meaning of each key to the configuration's JSON schema. The texts are the comments of
// samples/millrace.yaml, which is compiled into the program.
#pragma once

#include <string_view>

#include "service/config/config_shape.h"

namespace millrace::service {

/// Sets the `description` of each key of `schema` to the comment above that key in `sample`. The
/// sample has every key, some of them commented out. A key without its own comment shares that of
/// the key before it.
void ExplainKeys(std::string_view sample, ConfigShape::Json& schema);

/// The contents of samples/millrace.yaml at build time.
[[nodiscard]] std::string_view SampleConfig();

}  // namespace millrace::service
