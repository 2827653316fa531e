// Counts log messages by level, so that an alert needs no parsing of the log.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "prometheus/metric_family.h"
#include "spdlog/common.h"

namespace millrace::service {

/// Counts the messages that MILLRACE_LOG lets through, shown or summed up. Thread-safe.
class LogCounts {
 public:
  /// The process-wide counts.
  [[nodiscard]] static LogCounts& OfProcess();

  void Add(spdlog::level::level_enum level) { ++counts_.at(level); }
  [[nodiscard]] std::uint64_t of(spdlog::level::level_enum level) const {
    return counts_.at(level);
  }

 private:
  std::array<std::atomic<std::uint64_t>, spdlog::level::n_levels> counts_ = {};
};

/// `millrace_log_messages_total`, with a sample for each level from the start.
[[nodiscard]] prometheus::MetricFamily LogMessagesFamily(
    const LogCounts& counts = LogCounts::OfProcess());

}  // namespace millrace::service
