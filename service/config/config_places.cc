#include "service/config/config_places.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"

namespace millrace::service {
namespace {

ConfigPlaces::Place PlaceOf(const YAML::Mark& mark) {
  return {.line = std::max(mark.line, 0) + 1, .column = std::max(mark.column, 0) + 1};
}

}  // namespace

ConfigPlaces::ConfigPlaces(const YAML::Node& document) { Add(document, ""); }

std::optional<ConfigPlaces::Place> ConfigPlaces::Find(std::string_view path) const {
  const auto found = places_.find(path);
  return found == places_.end() ? std::nullopt : std::optional(found->second);
}

void ConfigPlaces::Add(const YAML::Node& node, const std::string& path) {
  places_.emplace(path, PlaceOf(node.Mark()));
  if (node.IsSequence()) {
    for (std::size_t i = 0; i < node.size(); ++i) Add(node[i], absl::StrCat(path, "[", i, "]"));
  }
  if (!node.IsMap()) return;
  for (const auto& entry : node) {
    if (!entry.first.IsScalar()) continue;
    Add(entry.second, absl::StrCat(path, path.empty() ? "" : ".", entry.first.Scalar()));
  }
}

}  // namespace millrace::service
