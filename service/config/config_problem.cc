#include "service/config/config_problem.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace millrace::service {

absl::Status AsStatus(std::string_view file, std::vector<ConfigProblem> problems,
                      absl::StatusCode code) {
  if (problems.empty()) return absl::OkStatus();
  const auto words = [](const ConfigProblem& problem) {
    return std::tie(problem.line, problem.column, problem.what);
  };
  std::ranges::sort(problems, {}, words);
  const auto same = std::ranges::unique(problems, {}, words);
  problems.erase(same.begin(), same.end());
  return {code,
          absl::StrJoin(problems, "\n", [file](std::string* out, const ConfigProblem& problem) {
            absl::StrAppend(out, std::string(file), ":", problem.line, ":", problem.column, ": ",
                            problem.what);
          })};
}

}  // namespace millrace::service
