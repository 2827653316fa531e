// Maps the keys of a configuration file to their lines and columns.
//
// Some errors depend on the machine: a missing file, a port in use. They are found long after
// parsing, and their messages still need the place in the file.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

// NOLINTNEXTLINE(readability-identifier-naming): the library's name.
namespace YAML {
class Node;
}

namespace millrace::service {

/// The places of all values of one document. Thread-safe after construction.
class ConfigPlaces {
 public:
  /// Line and column count from 1.
  struct Place {
    int line = 1;
    int column = 1;
  };

  ConfigPlaces() = default;
  /// Records the place of every value of `document`. REQUIRES: the document is finite
  /// (CanBeWalked() in config.cc).
  explicit ConfigPlaces(const YAML::Node& document);

  /// Whether there is no document.
  [[nodiscard]] bool empty() const { return places_.empty(); }

  /// The place of the value at `path`, such as "streams[0].source.uri". Nullopt if the file has no
  /// such value.
  [[nodiscard]] std::optional<Place> Find(std::string_view path) const;

 private:
  void Add(const YAML::Node& node, const std::string& path);

  std::map<std::string, Place, std::less<>> places_;
};

}  // namespace millrace::service
