// A YAML node with its name and place in messages, and the errors of one file.
#pragma once

#include <yaml-cpp/yaml.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error_reason.h"
#include "service/config/config_problem.h"

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

/// A YAML node with its name in messages. A file's author wants all errors at once, so a function
/// that finds an error notes it, and its caller goes on. Borrows the errors.
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

  [[nodiscard]] const YAML::Node& node() const { return node_; }

  /// The value of `key`. Nullopt unless this is a mapping with that key.
  [[nodiscard]] std::optional<ConfigValue> Find(std::string_view key) const;
  /// The entries of a list. Empty if this is no list.
  [[nodiscard]] std::vector<ConfigValue> Entries() const;

  /// `path`, with the file's folder as a prefix if it is relative. Notes an error if only a shell
  /// would understand the path.
  [[nodiscard]] std::string InFolder(const std::string& path) const;

  /// Notes an error at this node: its name, followed by `why`, such as "is empty".
  void Wrong(std::string_view why) const;
  /// Notes the error `what` at `key`, the node of a key of this mapping.
  void WrongKey(const YAML::Node& key, std::string what) const;
  /// Notes the error `what` at `key` of `section`, or here if this mapping lacks the key and its
  /// default is wrong.
  void WrongAt(std::string_view section, std::string_view key, std::string_view what) const;

 private:
  [[nodiscard]] std::string PathOf(std::string_view key) const;

  std::string what_;
  std::string path_;
  YAML::Node node_;
  YAML::Mark mark_;  // The place of its errors.
  ConfigErrors& errors_;
};

}  // namespace millrace::service
