// The table of docs/metrics.md, made from the server's metrics.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "prometheus/metric_family.h"

namespace millrace::service {

inline constexpr std::string_view kTableBegins =
    "<!-- Made from the code, with MILLRACE_WRITE_DOCS=1 by MetricsPageTest: change that. -->\n";
inline constexpr std::string_view kTableEnds = "<!-- Up to here. -->\n";

inline std::string_view NameOf(prometheus::MetricType type) {
  switch (type) {
    case prometheus::MetricType::Counter:
      return "counter";
    case prometheus::MetricType::Histogram:
      return "histogram";
    default:
      return "gauge";
  }
}

/// "stream, reason: `gap`, `paused`": the labels, and the values of labels with few values.
inline std::string LabelsOf(const prometheus::MetricFamily& family) {
  static const std::set<std::string> listed = {"reason", "outcome", "kind", "level"};
  std::vector<std::string> names;
  std::map<std::string, std::vector<std::string>> values;
  for (const prometheus::ClientMetric& metric : family.metric) {
    for (const auto& label : metric.label) {
      if (!values.contains(label.name)) names.push_back(label.name);
      std::vector<std::string>& known = values[label.name];
      const std::string value = absl::StrCat("`", label.value, "`");
      if (std::ranges::find(known, value) == known.end()) known.push_back(value);
    }
  }
  for (std::string& name : names) {
    if (listed.contains(name)) name = absl::StrCat(name, ": ", absl::StrJoin(values[name], ", "));
  }
  return absl::StrJoin(names, ", ");
}

inline std::string MetricsTable(const std::vector<prometheus::MetricFamily>& families) {
  std::string table = "| name | type | labels | what it says |\n| --- | --- | --- | --- |\n";
  for (const prometheus::MetricFamily& family : families) {
    absl::StrAppend(&table, "| `", family.name, "` | ", std::string(NameOf(family.type)), " | ",
                    LabelsOf(family), " | ", absl::StrReplaceAll(family.help, {{"|", "\\|"}}),
                    " |\n");
  }
  return table;
}

}  // namespace millrace::service
