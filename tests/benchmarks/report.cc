#include "tests/benchmarks/report.h"

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/check.h"

namespace millrace::benchmarks {

nlohmann::json Json(const Spread& spread) {
  return {{"median", spread.median}, {"min", spread.min}, {"max", spread.max}};
}

std::string MarkdownTable(const std::vector<std::vector<std::string>>& rows) {
  std::string text;
  for (const std::vector<std::string>& row : rows) {
    absl::StrAppend(&text, "| ", absl::StrJoin(row, " | "), " |\n");
    if (&row == &rows.front()) {
      for (std::size_t i = 0; i < row.size(); ++i) text += "| --- ";
      text += "|\n";
    }
  }
  return text;
}

std::string Conditions() {
  double load = 0;
  MILLRACE_CHECK(getloadavg(&load, 1) == 1);
  return absl::StrFormat("%d cores, load average %.2f", std::thread::hardware_concurrency(), load);
}

int WriteResult(const std::string& path, const nlohmann::json& result) {
  std::ofstream file(path);
  file << result.dump(2) << "\n";
  file.close();
  if (file) return 0;
  std::cerr << "cannot write " << path << "\n";
  return 1;
}

}  // namespace millrace::benchmarks
