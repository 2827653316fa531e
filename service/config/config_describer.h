// Describes the allowed contents of a configuration and its current values, without a file. It uses
// the tables of keys that the reader uses, so the two cannot differ.
#pragma once

#include <string>

#include "service/config/config_key.h"

namespace millrace::service {

/// The JSON Schema (draft 7) of a mapping with `keys`. The current values of `target` are the
/// defaults.
[[nodiscard]] ConfigJson SchemaOf(ConfigKeys keys, const ConfigTarget& target);

/// The current value of each of `keys`, sections included. Null for a key that is not set, and for
/// a list of sections.
[[nodiscard]] ConfigJson ValuesOf(ConfigKeys keys, const ConfigTarget& target);

/// `value` as text. Replaces invalid UTF-8, which paths may contain, as EntryJson() does.
[[nodiscard]] std::string Dump(const ConfigJson& value, int indent = -1);

}  // namespace millrace::service
