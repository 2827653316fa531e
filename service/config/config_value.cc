#include "service/config/config_value.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace millrace::service {

void ConfigErrors::Add(const YAML::Mark& mark, std::string path, std::string what) {
  problems_.push_back({.line = std::max(mark.line, 0) + 1,
                       .column = std::max(mark.column, 0) + 1,
                       .path = std::move(path),
                       .what = std::move(what)});
}

std::vector<FieldViolation> ConfigErrors::violations() const {
  std::vector<FieldViolation> violations;
  violations.reserve(problems_.size());
  for (const ConfigProblem& problem : problems_) {
    violations.push_back({.field = problem.path, .description = problem.what});
  }
  return violations;
}

std::optional<ConfigValue> ConfigValue::Find(std::string_view key) const {
  if (!node_.IsMap()) return std::nullopt;
  for (const auto& entry : node_) {
    if (entry.first.IsScalar() && entry.first.Scalar() == key) {
      ConfigValue value(absl::StrCat("'", std::string(key), "'"), entry.second, errors_,
                        PathOf(key));
      // yaml-cpp places an empty value where the next one begins, possibly some lines later.
      if (entry.second.IsNull()) value.mark_ = entry.first.Mark();
      return value;
    }
  }
  return std::nullopt;
}

std::vector<ConfigValue> ConfigValue::Entries() const {
  std::vector<ConfigValue> entries;
  if (!node_.IsSequence()) return entries;
  for (std::size_t i = 0; i < node_.size(); ++i) {
    entries.emplace_back(absl::StrCat("entry ", i + 1, " of ", what_), node_[i], errors_,
                         absl::StrCat(path_, "[", i, "]"));
  }
  return entries;
}

std::string ConfigValue::InFolder(const std::string& path) const {
  if (absl::StartsWith(path, "~/")) {
    Wrong(absl::StrCat("is '", path,
                       "'; only a shell knows what ~ is: write the folder out, or ./~/ for a "
                       "folder of that name"));
  }
  return (std::filesystem::path(errors_.folder()) / path).string();
}

void ConfigValue::Wrong(std::string_view why) const {
  errors_.Add(mark_, path_, absl::StrCat(what_, " ", std::string(why)));
}

void ConfigValue::WrongKey(const YAML::Node& key, std::string what) const {
  errors_.Add(key.Mark(), key.IsScalar() ? PathOf(key.Scalar()) : path_, std::move(what));
}

void ConfigValue::WrongAt(std::string_view section, std::string_view key,
                          std::string_view what) const {
  const std::optional<ConfigValue> in = Find(section);
  const std::optional<ConfigValue> at = in ? in->Find(key) : std::nullopt;
  if (at) return at->Wrong(what);
  const std::string section_name(section);
  const std::string key_name(key);
  const bool begins_with_a_vowel =
      std::string_view("aeiou").find(section.front()) != std::string_view::npos;
  const std::string has = begins_with_a_vowel ? " has an " : " has a ";
  errors_.Add(
      mark_, PathOf(absl::StrCat(section_name, ".", key_name)),
      absl::StrCat(what_, has, section_name, " whose '", key_name, "' ", std::string(what)));
}

std::string ConfigValue::PathOf(std::string_view key) const {
  return absl::StrCat(path_, path_.empty() ? "" : ".", std::string(key));
}

}  // namespace millrace::service
