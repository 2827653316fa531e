// Detects drift: a change of the mean of a stream of numbers.
//
// ADWIN2 of Bifet and Gavaldà, "Learning from time-changing data with adaptive windowing", SDM
// 2007, section 4. The window grows while its mean is stable. If two parts of it differ by more
// than chance, it drops the older part, at the cut where the two differ most clearly. Losses on a
// video are not independent draws from [0, 1], so the test for chance differs in three points:
//
//   variance   of each part around its own mean, so that a change does not hide itself;
//   range      two standard deviations instead of 1;
//   length     n values of an autocorrelated stream carry the information of n / f independent
//              ones. f = (1 + r) / (1 - r) for a first-order autoregression with correlation r.
//              The squared steps between neighbours give r = 1 - mean squared step / (2 variance).
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace millrace::pipeline {

/// The window. Keeps O(log n) numbers for n values. Not thread-safe.
class AdaptiveWindow {
 public:
  /// The means of the dropped part of the window, and of the rest.
  struct Change {
    double before = 0;
    double after = 0;
  };

  /// Adds the next value. Returns the change, if it detects one. REQUIRES: finite.
  std::optional<Change> Add(double value);

  /// Forgets all values.
  void Restart();

  /// The number of values in the window, and their mean (0 if the window is empty).
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
  // The two parts that differ most clearly, if any differ by more than chance.
  struct Cut {
    Part older;
    Part newer;
  };
  [[nodiscard]] std::optional<Cut> Look() const;
  [[nodiscard]] double MaxByChance(const Part& older, const Part& newer) const;
  void Drop(std::int64_t values);

  // Row r holds parts of 2^r values, the oldest first. Higher rows are older.
  std::vector<std::deque<Part>> rows_;
  Part all_;
  std::optional<double> last_;
  std::int64_t added_ = 0;
};

}  // namespace millrace::pipeline
