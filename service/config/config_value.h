// Reads YAML with tables of keys, and collects all errors.
//
// A file's author wants all errors at once, each with its place and the allowed values. So the
// reading functions note an error and go on.
#pragma once

#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error_reason.h"
#include "service/config/config_problem.h"
#include "service/config/config_shape.h"

namespace millrace::service {

/// The errors of one file. Not thread-safe.
class ConfigErrors {
 public:
  /// Relative paths in the file are relative to `folder`; empty: to the working folder.
  explicit ConfigErrors(std::string folder = "") : folder_(std::move(folder)) {}

  [[nodiscard]] const std::string& folder() const { return folder_; }

  /// Notes `what` for the node at `path`, such as "source.uri". `mark` is its place; yaml-cpp
  /// counts from 0.
  void Add(const YAML::Mark& mark, std::string path, std::string what);

  /// The errors in the order in which they were found.
  [[nodiscard]] const std::vector<ConfigProblem>& problems() const { return problems_; }
  /// The same errors with the paths of their nodes, for text that did not come from a file.
  [[nodiscard]] std::vector<FieldViolation> violations() const;

 private:
  const std::string folder_;
  std::vector<ConfigProblem> problems_;
};

/// Allowed whole numbers: `least`, `least` + `step` ... up to `most`.
struct WholeRange {
  std::int64_t least;
  std::int64_t most;
  std::int64_t step = 1;
};

/// Allowed real numbers.
struct RealRange {
  double least;
  double most;
};

/// Allowed lengths of a list.
struct CountRange {
  std::size_t least;
  std::size_t most;
};

template <typename T>
struct ConfigKey;

/// A YAML node with its name in messages. A reading function sets its output if the node is valid;
/// otherwise it notes an error and leaves the output unchanged. Borrows the errors.
///
/// Instead of a node, it may have a shape. Then a reading function leaves its output unchanged, and
/// records in the shape the allowed values and the output's current value.
class ConfigValue {
 public:
  /// `what` names the node in messages: "'listen'", "the file". `path` is its position, such as
  /// "source.uri"; empty at the top.
  ConfigValue(std::string what, const YAML::Node& node, ConfigErrors& errors, std::string path = "")
      : what_(std::move(what)),
        path_(std::move(path)),
        node_(node),
        mark_(node_.Mark()),
        errors_(errors) {}

  /// Describes a shape instead of reading a node. Borrows both arguments and adds no errors.
  ConfigValue(ConfigShape& shape, ConfigErrors& errors) : errors_(errors), shape_(&shape) {}

  /// Whether it fills a shape instead of reading a node.
  [[nodiscard]] bool describes() const { return shape_ != nullptr; }

  /// Reads a non-empty text.
  void Text(std::string& out) const;
  /// Reads the path of a file or folder. A relative path gets the file's folder as a prefix.
  void Path(std::string& out) const;
  /// `path` as Path() would read it. Notes an error if only a shell would understand the path.
  [[nodiscard]] std::string InFolder(const std::string& path) const;
  void Whole(const WholeRange& range, int& out) const;
  void Whole(const WholeRange& range, std::uint64_t& out) const;
  void Real(const RealRange& range, double& out) const;
  void Real(const RealRange& range, std::optional<double>& out) const;
  void Flag(bool& out) const;
  void OneOf(std::span<const std::string_view> allowed, std::string& out) const;
  /// Reads one text or a list of texts, each not empty.
  void Texts(CountRange count, std::vector<std::string>& out) const;
  /// Like Texts(), with each text one of `allowed`.
  void SomeOf(CountRange count, std::span<const std::string_view> allowed,
              std::vector<std::string>& out) const;
  /// Reads a list of distinct texts.
  void Names(CountRange count, std::vector<std::string>& out) const;
  void WholeList(CountRange count, const WholeRange& range, std::vector<int>& out) const;

  /// Reads a mapping: each of `keys` that it has, in the order of the table, into `out`. Unknown,
  /// repeated and missing keys are errors.
  template <typename T>
  void Map(std::span<const ConfigKey<T>> keys, T& out) const;

  /// Like Map(), but accepts an empty node, as where all keys are commented out.
  template <typename T>
  void MapOrNothing(std::span<const ConfigKey<T>> keys, T& out) const;

  /// Reads a list: calls `read` for each entry.
  void List(CountRange count, const std::function<void(const ConfigValue&)>& read) const;

  /// Notes an error at this node: its name, followed by `why`, such as "is empty".
  void Wrong(std::string_view why) const;
  /// Notes an error about the default of `key`, which this mapping does not have.
  void WrongDefault(std::string_view key, std::string_view why) const;

  /// The value of `key`. Nullopt unless this is a mapping with that key.
  [[nodiscard]] std::optional<ConfigValue> Find(std::string_view key) const;

  /// The YAML node, for keeping its original text.
  [[nodiscard]] const YAML::Node& node() const { return node_; }

 private:
  struct KnownKey {
    std::string_view name;
    bool required;
  };

  /// The text of a non-empty scalar. Otherwise notes that the node must be `allowed`.
  [[nodiscard]] std::optional<std::string> Scalar(std::string_view allowed) const;
  [[nodiscard]] std::optional<std::int64_t> ParseWhole(const WholeRange& range) const;
  [[nodiscard]] bool IsList(CountRange count) const;
  /// Notes unknown, repeated and missing keys. Returns whether this node is a mapping.
  [[nodiscard]] bool CheckKeys(std::span<const KnownKey> known) const;
  void CheckKey(const YAML::Node& key, std::span<const KnownKey> known,
                std::vector<std::string>& seen) const;

  [[nodiscard]] std::string PathOf(std::string_view key) const;

  /// Adds `key` to the shape. `read` describes its value.
  void Describe(std::string_view key, bool required,
                const std::function<void(const ConfigValue&)>& read) const;

  std::string what_;
  std::string path_;
  YAML::Node node_;
  YAML::Mark mark_;  // The place of its errors.
  ConfigErrors& errors_;
  ConfigShape* shape_ = nullptr;
};

/// One row of a table: a key of a mapping, and the function that reads it into a `T`.
template <typename T>
struct ConfigKey {
  std::string_view name;
  bool required;
  void (*read)(const ConfigValue& value, T& out);
};

template <typename T>
void ConfigValue::Map(std::span<const ConfigKey<T>> keys, T& out) const {
  if (describes()) {
    *shape_ = ConfigShape::Map();
    for (const ConfigKey<T>& key : keys) {
      Describe(key.name, key.required, [&](const ConfigValue& value) { key.read(value, out); });
    }
    return;
  }
  std::vector<KnownKey> known;
  known.reserve(keys.size());
  for (const ConfigKey<T>& key : keys) known.push_back({key.name, key.required});
  if (!CheckKeys(known)) return;
  for (const ConfigKey<T>& key : keys) {
    if (const std::optional<ConfigValue> value = Find(key.name)) key.read(*value, out);
  }
}

template <typename T>
void ConfigValue::MapOrNothing(std::span<const ConfigKey<T>> keys, T& out) const {
  if (!describes() && node_.IsNull()) return;
  Map(keys, out);
  if (describes()) shape_->schema["type"] = {"object", "null"};
}

}  // namespace millrace::service
