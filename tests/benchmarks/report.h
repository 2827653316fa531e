// The report of every benchmark: a Markdown table for people, JSON for programs.
//
// A benchmark compares with a baseline in the same run, in turns, so that other work on the machine
// slows both alike. It reports the median of the turns' ratios, with the least and the greatest.
#pragma once

#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "service/terminal/spread.h"

namespace millrace::benchmarks {

using service::RatioOf;
using service::Spread;
using service::SpreadOf;
using service::Text;

[[nodiscard]] nlohmann::json Json(const Spread& spread);

/// A table whose first row is its head.
[[nodiscard]] std::string MarkdownTable(const std::vector<std::vector<std::string>>& rows);

/// "2 cores, load average 0.12": what to doubt a result by. Other work makes two stages look better
/// against one than they are, for two threads get more of a busy machine than one.
[[nodiscard]] std::string Conditions();

/// Writes the result of a benchmark to `path`. Returns the exit code.
int WriteResult(const std::string& path, const nlohmann::json& result);

}  // namespace millrace::benchmarks
