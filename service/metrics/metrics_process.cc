#include "service/metrics/metrics_process.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>

#include "service/metrics/metrics_family.h"

namespace millrace::service {
namespace {

using prometheus::MetricType;

/// The fields of /proc/self/stat that are used here (see proc(5)).
struct ProcessStat {
  std::uint64_t cpu_ticks = 0;
  std::int64_t threads = 0;
  std::uint64_t start_ticks = 0;  // Since boot.
  std::uint64_t virtual_bytes = 0;
  std::uint64_t resident_pages = 0;
};

std::optional<ProcessStat> ReadProcessStat() {
  std::ifstream file("/proc/self/stat");
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  // The second field is the program's name in parentheses, which may contain any character.
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(text.substr(name_end + 1));
  std::vector<std::string> field(std::istream_iterator<std::string>(fields), {});
  constexpr std::size_t kFirst = 3;  // proc(5) counts from 1, and this text begins with field 3.
  const auto number = [&](std::size_t place) { return std::stoull(field.at(place - kFirst)); };
  if (field.size() <= 24 - kFirst) return std::nullopt;
  return ProcessStat{.cpu_ticks = number(14) + number(15),
                     .threads = static_cast<std::int64_t>(number(20)),
                     .start_ticks = number(22),
                     .virtual_bytes = number(23),
                     .resident_pages = number(24)};
}

std::optional<double> BootTimeSeconds() {
  std::ifstream file("/proc/stat");
  for (std::string key; file >> key;) {
    double seconds = 0;
    if (key == "btime" && file >> seconds) return seconds;
  }
  return std::nullopt;
}

std::optional<double> CountOpenFiles() {
  std::error_code error;
  const std::filesystem::directory_iterator files("/proc/self/fd", error);
  if (error) return std::nullopt;
  return static_cast<double>(std::distance(files, {})) -
         1;  // Less the descriptor of this directory listing.
}

prometheus::MetricFamily One(std::string name, std::string help, MetricType type, double value) {
  return MetricBuilder(std::move(name), std::move(help), type).Add({}, value).Take();
}

}  // namespace

std::vector<prometheus::MetricFamily> CollectProcessMetrics() {
  std::vector<prometheus::MetricFamily> families;
  const auto ticks_per_second = static_cast<double>(sysconf(_SC_CLK_TCK));
  if (const std::optional<ProcessStat> stat = ReadProcessStat()) {
    families.push_back(One("process_cpu_seconds_total", "User and system CPU time spent.",
                           MetricType::Counter,
                           static_cast<double>(stat->cpu_ticks) / ticks_per_second));
    families.push_back(One(
        "process_resident_memory_bytes", "Resident memory size.", MetricType::Gauge,
        static_cast<double>(stat->resident_pages) * static_cast<double>(sysconf(_SC_PAGESIZE))));
    families.push_back(One("process_virtual_memory_bytes", "Virtual memory size.",
                           MetricType::Gauge, static_cast<double>(stat->virtual_bytes)));
    families.push_back(One("process_threads", "Threads of the process.", MetricType::Gauge,
                           static_cast<double>(stat->threads)));
    if (const std::optional<double> boot = BootTimeSeconds()) {
      families.push_back(One("process_start_time_seconds", "Start time since 1970-01-01 UTC.",
                             MetricType::Gauge,
                             *boot + static_cast<double>(stat->start_ticks) / ticks_per_second));
    }
  }
  if (const std::optional<double> open = CountOpenFiles()) {
    families.push_back(One("process_open_fds", "Open file descriptors.", MetricType::Gauge, *open));
  }
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    families.push_back(One("process_max_fds", "Most file descriptors that may be open.",
                           MetricType::Gauge, static_cast<double>(limit.rlim_cur)));
  }
  return families;
}

}  // namespace millrace::service
