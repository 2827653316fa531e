// Reads YAML by tables of keys, and remembers everything that is wrong with it.
//
// A file's author wants all errors at once, each with its place and with what would be right. So
// nothing here stops at the first one: what cannot be read is noted, and reading goes on.
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

/// The errors found in one file. Not thread-safe.
class ConfigErrors {
 public:
  /// Relative paths in the file are relative to `folder`; empty: to the working folder.
  explicit ConfigErrors(std::string folder = "") : folder_(std::move(folder)) {}

  [[nodiscard]] const std::string& folder() const { return folder_; }

  /// Notes `what` at `mark`, which yaml-cpp counts from 0, of the node at `path`: "source.uri".
  void Add(const YAML::Mark& mark, std::string path, std::string what);

  /// In the order in which they were found.
  [[nodiscard]] const std::vector<ConfigProblem>& problems() const { return problems_; }
  /// The same by the nodes' paths: for what was no file.
  [[nodiscard]] std::vector<FieldViolation> violations() const;

 private:
  const std::string folder_;
  std::vector<ConfigProblem> problems_;
};

/// Whole numbers that are allowed: `least`, `least` + `step` ... up to `most`.
struct WholeRange {
  std::int64_t least;
  std::int64_t most;
  std::int64_t step = 1;
};

/// Numbers that are allowed.
struct RealRange {
  double least;
  double most;
};

/// How many entries a list must have.
struct CountRange {
  std::size_t least;
  std::size_t most;
};

template <typename T>
struct ConfigKey;

/// A node of the file, and what to call it. Each reading function sets its
/// output when the node is as it should be, and otherwise notes an error and leaves it alone.
/// Borrows the errors.
///
/// Or no node, but a shape: then each of them leaves its output alone, and notes in the shape what
/// it would read and what the output is.
class ConfigValue {
 public:
  /// `what` names the node in messages: "'listen'", "the file"; `path` says where it is, as
  /// "source.uri", and is empty at the top.
  ConfigValue(std::string what, const YAML::Node& node, ConfigErrors& errors, std::string path = "")
      : what_(std::move(what)),
        path_(std::move(path)),
        node_(node),
        mark_(node_.Mark()),
        errors_(errors) {}

  /// Borrows both. Nothing is noted in `errors`.
  ConfigValue(ConfigShape& shape, ConfigErrors& errors) : errors_(errors), shape_(&shape) {}

  /// Whether there is no node, but a shape.
  [[nodiscard]] bool describes() const { return shape_ != nullptr; }

  /// Any text but the empty one.
  void Text(std::string& out) const;
  /// The path of a file or a folder, with the file's own folder before it if it is relative.
  void Path(std::string& out) const;
  /// `path` as Path() gives it. Notes an error if only a shell would understand it.
  [[nodiscard]] std::string InFolder(const std::string& path) const;
  void Whole(const WholeRange& range, int& out) const;
  void Whole(const WholeRange& range, std::uint64_t& out) const;
  void Real(const RealRange& range, double& out) const;
  void Real(const RealRange& range, std::optional<double>& out) const;
  void Flag(bool& out) const;
  void OneOf(std::span<const std::string_view> allowed, std::string& out) const;
  /// A text, or a list of texts, each not empty.
  void Texts(CountRange count, std::vector<std::string>& out) const;
  /// The same, each one of `allowed`.
  void SomeOf(CountRange count, std::span<const std::string_view> allowed,
              std::vector<std::string>& out) const;
  /// A list of texts that differ.
  void Names(CountRange count, std::vector<std::string>& out) const;
  void WholeList(CountRange count, const WholeRange& range, std::vector<int>& out) const;

  /// A mapping: reads each of `keys` that is there into `out`, in the order of the table; unknown,
  /// repeated and missing keys are errors.
  template <typename T>
  void Map(std::span<const ConfigKey<T>> keys, T& out) const;

  /// The same. It may also be empty, as where all of its keys are comments.
  template <typename T>
  void MapOrNothing(std::span<const ConfigKey<T>> keys, T& out) const;

  /// A list: calls `read` for each entry.
  void List(CountRange count, const std::function<void(const ConfigValue&)>& read) const;

  /// Notes an error at this node: its name, then `why`, such as "is empty".
  void Wrong(std::string_view why) const;
  /// The same, of what `key` has as its default: this mapping does not have it.
  void WrongDefault(std::string_view key, std::string_view why) const;

  /// The value of `key`, if this is a mapping that has it.
  [[nodiscard]] std::optional<ConfigValue> Find(std::string_view key) const;

  /// The node itself, to be kept as it was written.
  [[nodiscard]] const YAML::Node& node() const { return node_; }

 private:
  struct KnownKey {
    std::string_view name;
    bool required;
  };

  /// The text of a scalar that is not empty; else notes that it must be `allowed`.
  [[nodiscard]] std::optional<std::string> Scalar(std::string_view allowed) const;
  [[nodiscard]] std::optional<std::int64_t> ParseWhole(const WholeRange& range) const;
  [[nodiscard]] bool IsList(CountRange count) const;
  /// Notes what is wrong with the keys as such. Returns whether this is a mapping.
  [[nodiscard]] bool CheckKeys(std::span<const KnownKey> known) const;
  void CheckKey(const YAML::Node& key, std::span<const KnownKey> known,
                std::vector<std::string>& seen) const;

  [[nodiscard]] std::string PathOf(std::string_view key) const;

  /// Adds `key` to the shape, as `read` describes it.
  void Describe(std::string_view key, bool required,
                const std::function<void(const ConfigValue&)>& read) const;

  std::string what_;
  std::string path_;
  YAML::Node node_;
  YAML::Mark mark_;  // Where to place its errors.
  ConfigErrors& errors_;
  ConfigShape* shape_ = nullptr;
};

/// One line of a table: a key that a mapping may have, and how to read it into a `T`.
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
