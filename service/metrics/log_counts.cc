#include "service/metrics/log_counts.h"

#include <string>

#include "service/metrics/metrics_family.h"

namespace millrace::service {

LogCounts& LogCounts::OfProcess() {
  static LogCounts counts;
  return counts;
}

prometheus::MetricFamily LogMessagesFamily(const LogCounts& counts) {
  using spdlog::level::level_enum;
  MetricBuilder family("millrace_log_messages_total",
                       "Messages for the log, including repeats that it only counted.",
                       prometheus::MetricType::Counter);
  for (const level_enum level : {spdlog::level::debug, spdlog::level::info, spdlog::level::warn,
                                 spdlog::level::err, spdlog::level::critical}) {
    const spdlog::string_view_t name = spdlog::level::to_string_view(level);
    family.Add({{"level", std::string(name.data(), name.size())}},
               static_cast<double>(counts.of(level)));
  }
  return family.Take();
}

}  // namespace millrace::service
