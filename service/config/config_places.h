// Where the keys of a configuration file are.
//
// What only the machine can decide (a file that is missing, a port in use) is found long after the
// file was parsed, and is still said with line and column.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace YAML {
class Node;
}

namespace millrace::service {

/// Not thread-safe while it is filled.
class ConfigPlaces {
 public:
  /// Counted from 1.
  struct Place {
    int line = 1;
    int column = 1;
  };

  ConfigPlaces() = default;
  /// Of every value of `document`. REQUIRES: it has an end (CanBeWalked() in config.cc).
  explicit ConfigPlaces(const YAML::Node& document);

  /// Whether there is no document.
  [[nodiscard]] bool empty() const { return places_.empty(); }

  /// Of the value at `path`, as "streams[0].source.uri"; nothing where the file has none.
  [[nodiscard]] std::optional<Place> Find(std::string_view path) const;

 private:
  void Add(const YAML::Node& node, const std::string& path);

  std::map<std::string, Place, std::less<>> places_;
};

}  // namespace millrace::service
