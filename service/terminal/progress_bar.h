// A progress bar with the estimated time left.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>

#include "base/clock.h"
#include "base/mutex.h"

namespace millrace::service {

/// A bar of `cells` cells, filled up to `share`: "[######....]".
[[nodiscard]] std::string BarText(double share, int cells);

/// "30 s left", "10 min left", "1.5 h left".
[[nodiscard]] std::string TimeLeftText(double seconds);

/// On a terminal, rewrites its line a few times a second. Elsewhere, prints a line for each tenth
/// of the work, but no line in the first two seconds or within two seconds after another.
/// Thread-safe. Borrows `out` and the clock.
class ProgressBar {
 public:
  struct Options {
    /// The unit of `done` and `all`: "pairs".
    std::string unit;
    /// `out` is a terminal.
    bool rewrites = false;
    /// The terminal's width.
    std::size_t columns = 80;
    const Clock* clock = &MonotonicClock();
  };

  /// For standard error, terminal or not: standard output is for results.
  [[nodiscard]] static Options OnStandardError(std::string unit);

  ProgressBar(std::ostream& out, Options options);

  /// May be called at any rate. Ignores a `done` below an earlier one, because threads may report
  /// out of order. REQUIRES: done <= all.
  void Show(std::int64_t done, std::int64_t all) ABSL_LOCKS_EXCLUDED(mu_);

  /// Removes the line from a terminal, so that other output can take its place. The next Show()
  /// writes the line again below that output.
  void Clear() ABSL_LOCKS_EXCLUDED(mu_);

  /// Ends the line, so that later output starts on a new line.
  void Finish() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  [[nodiscard]] std::string Line(std::int64_t done, std::int64_t all,
                                 std::chrono::nanoseconds now) const;
  void PrintTenth(std::int64_t done, std::int64_t all, std::chrono::nanoseconds now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Options options_;
  const std::chrono::nanoseconds start_;

  Mutex mu_;
  std::ostream& out_ ABSL_GUARDED_BY(mu_);
  std::optional<std::chrono::nanoseconds> shown_ ABSL_GUARDED_BY(mu_);
  std::int64_t done_ ABSL_GUARDED_BY(mu_) = 0;
  std::int64_t tenths_ ABSL_GUARDED_BY(mu_) = 0;
  bool line_open_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace millrace::service
