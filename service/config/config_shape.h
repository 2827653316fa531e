// Describes the allowed contents of a configuration and its current values, without a file.
//
// One function reads each key. It knows the allowed values and the destination (config_schema.cc).
// Without a YAML node, ConfigValue records that knowledge instead. So the JSON schema and the
// output of `check-config` cannot differ from the parser.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nlohmann/json.hpp"

namespace millrace::service {

struct WholeRange;
struct RealRange;
struct CountRange;

/// One key, or a whole section.
struct ConfigShape {
  using Json = nlohmann::ordered_json;

  /// A JSON Schema, draft 7.
  Json schema = {};
  /// The current value. Null for a key without a value, and for a section without any.
  Json now = nullptr;

  /// `value` as text. Replaces invalid UTF-8, which paths may contain, as EntryJson() does.
  [[nodiscard]] static std::string Dump(const Json& value, int indent = -1);

  [[nodiscard]] static ConfigShape Text(const std::string& now);
  [[nodiscard]] static ConfigShape Whole(const WholeRange& range, Json now);
  [[nodiscard]] static ConfigShape Real(const RealRange& range, Json now);
  [[nodiscard]] static ConfigShape Flag(bool now);
  [[nodiscard]] static ConfigShape OneOf(std::span<const std::string_view> allowed,
                                         const std::string& now);
  /// A list of values shaped like `entry`.
  [[nodiscard]] static ConfigShape List(const CountRange& count, const ConfigShape& entry,
                                        Json now);
  /// Like List(), but also accepts a single entry without a list.
  [[nodiscard]] static ConfigShape OneOrList(const CountRange& count, const ConfigShape& entry,
                                             Json now);

  /// A mapping without keys, for With().
  [[nodiscard]] static ConfigShape Map();
  void Add(std::string_view key, bool required, ConfigShape value);
};

}  // namespace millrace::service
