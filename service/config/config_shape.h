// What a configuration may say, and what holds where it says nothing: without a file.
//
// Each key is read by one function, which knows what is allowed and where the value goes
// (config_schema.cc). Where there is no node to read, ConfigValue notes just that, so that neither
// the JSON schema nor the values that `check-config` prints can differ from what is read.
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

  /// Of JSON Schema, draft 7.
  Json schema = {};
  /// What holds now: null where nothing does, and for a section of which nothing does.
  Json now = nullptr;

  /// As text. What is no UTF-8, as a path may be, is replaced, as in EntryJson().
  [[nodiscard]] static std::string Dump(const Json& value, int indent = -1);

  [[nodiscard]] static ConfigShape Text(const std::string& now);
  [[nodiscard]] static ConfigShape Whole(const WholeRange& range, Json now);
  [[nodiscard]] static ConfigShape Real(const RealRange& range, Json now);
  [[nodiscard]] static ConfigShape Flag(bool now);
  [[nodiscard]] static ConfigShape OneOf(std::span<const std::string_view> allowed,
                                         const std::string& now);
  /// A list of `entry`.
  [[nodiscard]] static ConfigShape List(const CountRange& count, const ConfigShape& entry,
                                        Json now);
  /// As List(); where one alone will do, it need not be a list.
  [[nodiscard]] static ConfigShape OneOrList(const CountRange& count, const ConfigShape& entry,
                                             Json now);

  /// A mapping without keys, for With().
  [[nodiscard]] static ConfigShape Map();
  void Add(std::string_view key, bool required, ConfigShape value);
};

}  // namespace millrace::service
