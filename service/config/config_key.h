// The keys of the configuration, as data.
//
// A section of the file is a table of keys. Each key has its accepted values, the place of its
// value, and its meaning. With the tables, config_reader.h reads YAML. From the same tables,
// config_describer.h makes the JSON schema and the effective settings, so that they agree.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "nlohmann/json.hpp"
#include "service/config/config.h"
#include "service/config/config_value.h"

namespace millrace::service {

struct ConfigKey;
/// The keys of a section, in the order in which they are read and shown.
using ConfigKeys = std::span<const ConfigKey>;
/// The values of keys. Objects keep the order of their keys.
using ConfigJson = nlohmann::ordered_json;
/// The names that a key accepts.
using ConfigNames = const std::vector<std::string>& (*)();

// ----------------------------------------------------------------------------------- The types --

/// Allowed lengths of a list.
struct CountRange {
  std::size_t min;
  std::size_t max;
};
/// A text that is not empty.
struct TextType {};
/// The path of a file or folder. A relative path gets the file's folder as a prefix.
struct PathType {};
/// true or false.
struct FlagType {};
/// Whole numbers: `min`, `min` + `step` ... up to `max`.
struct WholeType {
  std::int64_t min;
  std::int64_t max;
  std::int64_t step = 1;
};
struct RealType {
  double min;
  double max;
};
/// One of `names`.
struct ChoiceType {
  ConfigNames names;
};
/// One text or a list of texts, each one of `names`. Null: any text that is not empty.
struct TextsType {
  CountRange count;
  ConfigNames names = nullptr;
};
/// A list of distinct texts.
struct DistinctType {
  CountRange count;
};
/// A list of whole numbers.
struct WholesType {
  CountRange count;
  WholeType entry;
};
/// A list of numbers.
struct RealsType {
  CountRange count;
  RealType entry;
};
/// A mapping with keys of its own. It may be empty if all keys may be commented out.
struct SectionType {
  ConfigKeys (*keys)();
  bool may_be_empty = false;
};
/// A list of mappings. The key's set() reads the entries; its value is null.
struct SectionsType {
  CountRange count;
  ConfigKeys (*keys)();
};

/// The values that a key accepts.
using ConfigType =
    std::variant<TextType, PathType, FlagType, WholeType, RealType, ChoiceType, TextsType,
                 DistinctType, WholesType, RealsType, SectionType, SectionsType>;

// ----------------------------------------------------------------------------------- The place --

/// The structs that hold the values: a stream, which is an entry of the file or the defaults of its
/// entries, and the whole configuration. `config` is null for an entry that a client wrote.
struct ConfigTarget {
  Config* config;
  StreamConfig* stream;
};

/// Where a key's value lives.
struct ConfigMember {
  /// The value. Null, an empty text or list, and a number out of range mean "not set".
  ConfigJson (*get)(const ConfigTarget& target) = nullptr;
  /// Sets a value that the key's type accepts. Notes an error at `at` if a further rule refuses it.
  void (*set)(const ConfigValue& at, const ConfigJson& value, const ConfigTarget& target) = nullptr;
};

template <typename T>
ConfigJson ToJson(const T& value) {
  return value;
}
inline ConfigJson ToJson(std::chrono::milliseconds value) { return value.count(); }
inline ConfigJson ToJson(const std::optional<double>& value) {
  return value ? ConfigJson(*value) : ConfigJson(nullptr);
}

template <typename T>
void FromJson(const ConfigJson& value, T& out) {
  out = value.get<T>();
}
inline void FromJson(const ConfigJson& value, std::chrono::milliseconds& out) {
  out = std::chrono::milliseconds(value.get<std::int64_t>());
}
inline void FromJson(const ConfigJson& value, std::optional<double>& out) {
  out = value.get<double>();
}

/// The index of `name`. REQUIRES: `names` has it.
[[nodiscard]] inline std::size_t IndexOf(const std::vector<std::string>& names,
                                         const ConfigJson& name) {
  std::size_t index = 0;
  while (names.at(index) != name.get_ref<const std::string&>()) ++index;
  return index;
}

/// The member that `of` returns for a ConfigTarget. REQUIRES: `of` captures nothing.
template <typename Of>
constexpr ConfigMember Member(Of /*of*/) {
  return {.get = [](const ConfigTarget& target) { return ToJson(Of()(target)); },
          .set = [](const ConfigValue& /*at*/, const ConfigJson& value,
                    const ConfigTarget& target) { FromJson(value, Of()(target)); }};
}

/// Like Member(), for an enumeration. `kNames` are in the order of its values.
// NOLINTNEXTLINE(readability-identifier-naming): a constant.
template <ConfigNames kNames, typename Of>
constexpr ConfigMember Enumeration(Of /*of*/) {
  return {.get = [](const ConfigTarget& target) -> ConfigJson {
            return kNames().at(static_cast<std::size_t>(Of()(target)));
          },
          .set =
              [](const ConfigValue& /*at*/, const ConfigJson& value, const ConfigTarget& target) {
                auto& out = Of()(target);
                out = static_cast<std::remove_reference_t<decltype(out)>>(IndexOf(kNames(), value));
              }};
}

// ------------------------------------------------------------------------------------- The key --

/// The tasks that a key is for.
enum class ForTasks { kAll, kFlow, kLabels };

/// One row of a table.
struct ConfigKey {
  std::string_view name;
  ConfigType type;
  /// None for a section.
  ConfigMember member = {};
  /// The meaning, as samples/millrace.yaml shows it. Empty: that of the row before covers this key.
  std::string_view help = {};
  ForTasks tasks = ForTasks::kAll;
  bool required = false;
  /// The type in a stream whose earlier keys are read. Null: `type`.
  ConfigType (*narrowed)(const StreamConfig& stream) = nullptr;
};

inline constexpr bool kRequired = true;

}  // namespace millrace::service
