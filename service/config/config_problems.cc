#include "service/config/config_problems.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

namespace millrace::service {
namespace {

std::string PathOf(std::size_t stream) { return absl::StrCat("streams[", stream, "]"); }

std::string PathOf(std::size_t stream, std::string_view key) {
  return absl::StrCat(PathOf(stream), ".", std::string(key));
}

/// Whether `path` is `section` or lies below it.
bool IsIn(std::string_view path, std::string_view section) {
  if (!path.starts_with(section)) return false;
  const std::string_view rest = path.substr(section.size());
  return rest.empty() || rest.front() == '.' || rest.front() == '[';
}

/// Whether `path` names a section of settings. The whole file and whole streams do not count,
/// because an error there says nothing about a single key.
bool IsSection(std::string_view path) { return !path.empty() && path.back() != ']'; }

}  // namespace

void ConfigProblems::AddAt(const ConfigPlaces::Place& place, std::string what) {
  added_.push_back({.line = place.line, .column = place.column, .what = std::move(what)});
}

void ConfigProblems::Add(std::string_view key, std::string_view what) {
  const ConfigPlaces& places = file_.places;
  std::optional<ConfigPlaces::Place> place = places.Find(key);
  if (!place) place = places.Find(key.substr(0, key.find('.')));
  AddAt(place.value_or(ConfigPlaces::Place()),
        absl::StrCat(std::string(key), ": ", std::string(what)));
}

void ConfigProblems::AddToStream(std::size_t stream, std::string_view key, std::string_view what) {
  const std::string of_stream = PathOf(stream, key);
  for (const std::string_view path : {std::string_view(of_stream), key}) {
    const std::optional<ConfigPlaces::Place> place = file_.places.Find(path);
    if (!place) continue;
    return AddAt(*place, absl::StrCat(std::string(key), ": ", std::string(what)));
  }
  AddAt(file_.places.Find(PathOf(stream)).value_or(ConfigPlaces::Place()),
        absl::StrCat(std::string(key), " of stream '", file_.config.streams.at(stream).name,
                     "': ", std::string(what)));
}

bool ConfigProblems::Unread(std::string_view key, Keys besides) const {
  return std::ranges::any_of(file_.problems, [&](const ConfigProblem& problem) {
    const std::string& path = problem.path;
    if (std::ranges::any_of(besides, [&path](auto one) { return path.ends_with(one); })) {
      return false;
    }
    return IsIn(path, key) || (IsSection(path) && IsIn(key, path));
  });
}

bool ConfigProblems::UnreadInStream(std::size_t stream, std::string_view key, Keys besides) const {
  return Unread(key, besides) || Unread(PathOf(stream, key), besides);
}

absl::Status ConfigProblems::status() const {
  std::vector<ConfigProblem> all = file_.problems;
  all.insert(all.end(), added_.begin(), added_.end());
  return AsStatus(file_.name, std::move(all));
}

absl::Status ConfigProblems::added(absl::StatusCode code) const {
  return AsStatus(file_.name, added_, code);
}

}  // namespace millrace::service
