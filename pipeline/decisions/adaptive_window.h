// Notices when the mean of a stream of numbers has changed: drift.
//
// ADWIN2 of Bifet and Gavaldà, "Learning from time-changing data with adaptive windowing", SDM
// 2007, section 4: a window that grows while its mean stays and drops its older part when two parts
// of it differ by more than chance: all of it, where the two differ most clearly. Chance is judged
// differently in three ways, because losses on a video are no independent draws from [0, 1]:
//
//   variance   of each part around its own mean, so that a change does not hide itself;
//   range      two standard deviations instead of 1;
//   length     n values of an autocorrelated stream say as much as n / f independent ones, where
//              f = (1 + r) / (1 - r) for a first-order autoregression with correlation r, which the
//              squared steps between neighbours show: r = 1 - mean squared step / (2 variance).
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace millrace::pipeline {

/// The window. Keeps O(log n) numbers for n values. Not thread-safe.
class AdaptiveWindow {
 public:
  struct Options {
    /// Bound on the chance that one look takes noise for a change: 0 to 1, neither included.
    double delta = 0.002;
    /// Values between two looks.
    int check_every = 8;
    /// Parts of fewer values are not compared.
    int least_part = 32;
  };

  /// The mean of what was dropped from the window, and of what was left.
  struct Change {
    double before = 0;
    double after = 0;
  };

  explicit AdaptiveWindow(const Options& options);

  /// Takes the next value. Returns the change that it shows, if it does. REQUIRES: finite.
  std::optional<Change> Add(double value);

  /// Forgets all values.
  void Restart();

  /// Values in the window, and their mean (0 if there are none).
  [[nodiscard]] std::int64_t width() const { return all_.count; }
  [[nodiscard]] double mean() const { return all_.mean; }

 private:
  struct Part {
    std::int64_t count = 0;
    double mean = 0;
    double squares = 0;  // Sum of squared distances from the mean.
    double steps = 0;    // Sum of squared steps from each value's predecessor.
  };

  static Part Joined(const Part& a, const Part& b);
  static Part Without(const Part& whole, const Part& part);
  void Insert(double value);
  // The two parts that differ most clearly, if any do by more than chance.
  struct Cut {
    Part older;
    Part newer;
  };
  [[nodiscard]] std::optional<Cut> Look() const;
  [[nodiscard]] double MostByChance(const Part& older, const Part& newer) const;
  void Drop(std::int64_t values);

  const Options options_;
  // Row r holds parts of 2^r values, the oldest first; a higher row is older.
  std::vector<std::deque<Part>> rows_;
  Part all_;
  std::optional<double> last_;
  std::int64_t added_ = 0;
};

}  // namespace millrace::pipeline
