// A bar that fills while something long is done, with the time that is left.
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

/// Of `cells` cells the share that is full: "[######....]".
[[nodiscard]] std::string BarText(double share, int cells);

/// "30 s left", "10 min left", "1.5 h left".
[[nodiscard]] std::string TimeLeftText(double seconds);

/// Rewrites its line on a terminal a few times a second; elsewhere prints a line for every tenth
/// that is done, but none in the first two seconds and none sooner after another. Thread-safe.
/// Borrows `out` and the clock.
class ProgressBar {
 public:
  struct Options {
    /// Of what there is so much: "pairs".
    std::string unit;
    /// `out` is a terminal.
    bool rewrites = false;
    /// Of the terminal.
    std::size_t columns = 80;
    const Clock* clock = &MonotonicClock();
  };

  /// For standard error, whatever that is: standard output is for what was asked for.
  [[nodiscard]] static Options OnStandardError(std::string unit);

  ProgressBar(std::ostream& out, Options options);

  /// Told as often as anybody likes; less than before says nothing, as threads come when they come.
  /// REQUIRES: done <= all.
  void Show(std::int64_t done, std::int64_t all) ABSL_LOCKS_EXCLUDED(mu_);

  /// Takes the line off a terminal, so that something else can be printed in its place; the next
  /// Show() writes it again, below.
  void Clear() ABSL_LOCKS_EXCLUDED(mu_);

  /// Ends the line, so that what follows starts a new one.
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
