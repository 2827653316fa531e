#include "service/commands/bench/bench_report.h"

#include <cstdlib>
#include <fstream>
#include <thread>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"
#include "service/terminal/spread.h"
#include "service/terminal/text_table.h"

namespace millrace::service {
namespace {

using nlohmann::json;
using pipeline::BenchRow;
using pipeline::BenchTurn;

constexpr double kBytesPerMib = 1 << 20;

// The columns of a table row. `idle` is empty for a baseline, and for a GPU that runs kernel by
// kernel. `gpu_mib` has values only on a GPU.
struct Columns {
  std::vector<double> rate;
  std::vector<double> delay_ms;
  std::vector<double> idle;
  std::vector<double> cpu_ms;
  std::vector<double> gpu_mib;
};

Columns ColumnsOf(const BenchRow& row) {
  Columns columns;
  for (const BenchTurn& turn : row.turns) {
    columns.rate.push_back(turn.samples_per_second);
    columns.delay_ms.push_back(turn.delay_ms);
    if (turn.idle) columns.idle.push_back(*turn.idle);
    columns.cpu_ms.push_back(turn.cpu_ms_per_sample);
    if (turn.gpu_bytes) columns.gpu_mib.push_back(*turn.gpu_bytes / kBytesPerMib);
  }
  return columns;
}

// A network's first row is its baseline.
class Baseline {
 public:
  const std::vector<double>& For(const BenchRow& row) {
    if (row.network != network_) {
      network_ = row.network;
      rate_ = ColumnsOf(row).rate;
    }
    return rate_;
  }

 private:
  std::string network_;
  std::vector<double> rate_;
};

json SpreadJson(const std::vector<double>& values) {
  if (values.empty()) return nullptr;
  const Spread spread = SpreadOf(values);
  return {{"median", spread.median},
          {"least", spread.min},
          {"greatest", spread.max},
          {"turns", values}};
}

json RowJson(const BenchRow& row, const std::vector<double>& baseline) {
  const Columns columns = ColumnsOf(row);
  std::vector<double> ratios;
  for (std::size_t i = 0; i < baseline.size(); ++i) ratios.push_back(columns.rate[i] / baseline[i]);
  return {{"network", row.network},
          {"schedule", row.schedule},
          {"stages", row.stages},
          {"devices", row.devices},
          {"threads", row.threads},
          {"captures", row.captures},
          {"cuts", row.cuts},
          {"samples_per_second", SpreadJson(columns.rate)},
          {"ratio", SpreadJson(ratios)},
          {"delay_ms", SpreadJson(columns.delay_ms)},
          {"idle", SpreadJson(columns.idle)},
          {"cpu_ms_per_sample", SpreadJson(columns.cpu_ms)},
          {"gpu_mib", SpreadJson(columns.gpu_mib)}};
}

std::string CpuModel() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!absl::StartsWith(line, "model name")) continue;
    return std::string(absl::StripAsciiWhitespace(line.substr(line.find(':') + 1)));
  }
  return "";
}

}  // namespace

BenchConditions PresentConditions() {
  BenchConditions conditions{.cores = static_cast<int>(std::thread::hardware_concurrency()),
                             .cpu = CpuModel()};
  if (getloadavg(&conditions.load_average, 1) != 1) conditions.load_average = 0;
  return conditions;
}

std::string ConditionsText(const BenchConditions& conditions) {
  return absl::StrFormat("%d cores%s%s, load average %.2f", conditions.cores,
                         conditions.cpu.empty() ? "" : " of ", conditions.cpu,
                         conditions.load_average);
}

std::string BenchTable(const std::vector<BenchRow>& rows) {
  TextTable table({"network", "schedule", "stages", "samples a second", "ratio", "delay ms", "idle",
                   "CPU ms a sample", "GPU MiB"});
  Baseline baseline;
  for (const BenchRow& row : rows) {
    const Columns columns = ColumnsOf(row);
    table.Add({row.network, absl::StrCat(row.schedule, row.captures ? ", graphs" : ""),
               row.stages == 0 ? "-" : absl::StrCat(row.stages), Text(SpreadOf(columns.rate), 2),
               Text(RatioOf(columns.rate, baseline.For(row)), 2),
               Text(SpreadOf(columns.delay_ms), 1),
               columns.idle.empty() ? "-" : Text(SpreadOf(columns.idle), 2),
               NumberText(SpreadOf(columns.cpu_ms).median),
               columns.gpu_mib.empty() ? "-" : NumberText(SpreadOf(columns.gpu_mib).median)});
  }
  return table.Text();
}

std::string BenchJson(const BenchConditions& conditions, const pipeline::BenchOptions& options,
                      const std::vector<BenchRow>& rows) {
  json all = {{"conditions",
               {{"cores", conditions.cores},
                {"load_average", conditions.load_average},
                {"cpu", conditions.cpu}}},
              {"width", options.network.width},
              {"height", options.network.height},
              {"device", options.device},
              {"precision", pipeline::NameOf(options.network.precision)},
              {"samples", options.samples},
              {"turns", options.turns},
              {"rows", json::array()}};
  Baseline baseline;
  for (const BenchRow& row : rows) all["rows"].push_back(RowJson(row, baseline.For(row)));
  return all.dump(2) + "\n";
}

}  // namespace millrace::service
