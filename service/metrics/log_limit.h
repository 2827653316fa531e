// Keeps what is said again and again from filling the log.
//
//   12:00:00 warning push: a frame of 64x65 is no 64x64
//   12:00:01 warning push: a frame of 64x97 is no 64x64 ... and 41 more like it
//
// Messages are alike where they are of the same level, about the same stream, and equal but for
// their numbers and IPv6 addresses. Those for who debugs are all shown.
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

/// Lets one message of those that are alike through at once, and then one a second: the newest,
/// with how many it stands for. Which of them are due is looked at with each message and in
/// flush(), which is to be called about once a second; the destructor shows the rest. Thread-safe.
class LogLimit final : public spdlog::sinks::sink {
 public:
  struct Options {
    /// Where it all goes.
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
  /// What makes messages alike.
  struct Kind {
    spdlog::level::level_enum level;
    std::string stream;
    std::string text;  // Without its numbers.
    auto operator<=>(const Kind&) const = default;
  };
  struct Repeats {
    nanoseconds shown{0};
    /// Since then; the newest of them is `text`.
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
