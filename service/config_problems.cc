#include "service/config_problems.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace millrace::service {

void ConfigProblems::Add(std::string_view key, std::string_view what) {
  const ConfigPlaces& places = file_.places;
  std::optional<ConfigPlaces::Place> place = places.Find(key);
  if (!place) place = places.Find(key.substr(0, key.find('.')));
  problems_.push_back({place.value_or(ConfigPlaces::Place()),
                       absl::StrCat(std::string(key), ": ", std::string(what))});
}

void ConfigProblems::AddToStream(std::size_t stream, std::string_view key, std::string_view what) {
  const std::string at = absl::StrCat("streams[", stream, "]");
  const std::string of_stream = absl::StrCat(at, ".", std::string(key));
  for (const std::string_view path : {std::string_view(of_stream), key}) {
    const std::optional<ConfigPlaces::Place> place = file_.places.Find(path);
    if (!place) continue;
    problems_.push_back({*place, absl::StrCat(std::string(key), ": ", std::string(what))});
    return;
  }
  problems_.push_back(
      {file_.places.Find(at).value_or(ConfigPlaces::Place()),
       absl::StrCat(std::string(key), " of stream '", file_.config.streams.at(stream).name,
                    "': ", std::string(what))});
}

absl::Status ConfigProblems::status(absl::StatusCode code) const {
  if (problems_.empty()) return absl::OkStatus();
  const auto order = [](const Problem& problem) {
    return std::tie(problem.place.line, problem.place.column, problem.what);
  };
  std::vector<Problem> sorted = problems_;
  std::ranges::sort(sorted, {}, order);
  const auto same = std::ranges::unique(sorted, {}, order);
  sorted.erase(same.begin(), same.end());
  return {code, absl::StrJoin(sorted, "\n", [this](std::string* out, const Problem& problem) {
            absl::StrAppend(out, file_.name, ":", problem.place.line, ":", problem.place.column,
                            ": ", problem.what);
          })};
}

}  // namespace millrace::service
