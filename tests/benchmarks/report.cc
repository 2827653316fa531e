#include "tests/benchmarks/report.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/check.h"

namespace millrace::benchmarks {

Spread SpreadOf(std::vector<double> values) {
  MILLRACE_CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  const bool odd = values.size() % 2 == 1;
  return {.median = odd ? values[half] : (values[half - 1] + values[half]) / 2,
          .min = values.front(),
          .max = values.back()};
}

Spread RatioOf(const std::vector<double>& values, const std::vector<double>& baseline) {
  MILLRACE_CHECK(values.size() == baseline.size());
  std::vector<double> ratios;
  for (std::size_t turn = 0; turn < values.size(); ++turn) {
    ratios.push_back(values[turn] / baseline[turn]);
  }
  return SpreadOf(std::move(ratios));
}

std::string Text(const Spread& spread, int digits) {
  return absl::StrFormat("%.*f (%.*f to %.*f)", digits, spread.median, digits, spread.min, digits,
                         spread.max);
}

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
