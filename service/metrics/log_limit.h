// Keeps repeated messages from filling the log.
//
//   12:00:00 warning push: a frame of 64x65 is no 64x64
//   12:00:01 warning push: a frame of 64x97 is no 64x64 ... and 41 more like it
//
// Messages are alike if they have the same level and stream, and the same text except for numbers
// and IPv6 addresses. Debug messages are never suppressed.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/mutex.h"
#include "service/metrics/log_counts.h"
#include "spdlog/sinks/sink.h"

namespace millrace::service {

/// Shows the first of several messages that are alike at once. After that it shows one a second:
/// the newest, with the number of messages that it stands for. Each message and each flush() checks
/// which summaries are due; call flush() about once a second. The destructor shows the rest.
/// Thread-safe.
class LogLimit final : public spdlog::sinks::sink {
 public:
  struct Options {
    /// The sink that gets the shown messages.
    std::shared_ptr<spdlog::sinks::sink> to;
    LogCounts* counts = &LogCounts::OfProcess();
    const Clock* clock = &MonotonicClock();
  };

  explicit LogLimit(Options options) : options_(std::move(options)) {}
  ~LogLimit() override;

  void log(const spdlog::details::log_msg& message) override ABSL_LOCKS_EXCLUDED(mu_);
  void flush() override ABSL_LOCKS_EXCLUDED(mu_);
  void set_pattern(const std::string& pattern) override { options_.to->set_pattern(pattern); }
  void set_formatter(std::unique_ptr<spdlog::formatter> formatter) override {
    options_.to->set_formatter(std::move(formatter));
  }

 private:
  /// Messages with an equal Kind are alike.
  struct Kind {
    spdlog::level::level_enum level;
    std::string stream;
    std::string text;  // Without its numbers.
    auto operator<=>(const Kind&) const = default;
  };
  struct Repeats {
    nanoseconds shown{0};
    /// Messages since `shown`; `text` is the newest.
    std::uint64_t count = 0;
    std::string text = {};
  };

  static Kind KindOf(const spdlog::details::log_msg& message);
  void ShowWhatIsDue(nanoseconds now, bool all) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Show(const Kind& kind, const Repeats& repeats) const;

  const Options options_;

  Mutex mu_;
  std::map<Kind, Repeats> kinds_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millrace::service
