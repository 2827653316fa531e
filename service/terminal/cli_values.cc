#include "service/terminal/cli_values.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/nearest.h"
#include "pipeline/schedules/schedules.h"

namespace millrace::service {

CLI::Validator OneOf(std::vector<std::string> names) {
  std::string described = absl::StrCat("{", absl::StrJoin(names, ","), "}");
  const auto refuse = [names = std::move(names)](const std::string& name) -> std::string {
    if (std::ranges::find(names, name) != names.end()) return "";
    const std::string nearest = Nearest(name, names);
    return absl::StrCat("there is no '", name, "'; ",
                        nearest.empty() ? "" : absl::StrCat("did you mean '", nearest, "'? "),
                        "it must be one of ", absl::StrJoin(names, ", "));
  };
  return {refuse, std::move(described)};
}

CLI::Validator ScheduleName(std::vector<std::string> more) {
  std::vector<std::string> names = pipeline::ScheduleNames();
  names.insert(names.end(), more.begin(), more.end());
  return OneOf(std::move(names));
}

CLI::Validator WholeFrom(std::uint64_t min) {
  const auto refuse = [min](const std::string& text) -> std::string {
    std::uint64_t number = 0;
    if (absl::SimpleAtoi(text, &number) && number >= min) return "";
    return absl::StrCat("'", text, "' must be a whole number from ", min, " on");
  };
  return {refuse, ""};
}

}  // namespace millrace::service
