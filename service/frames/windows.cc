#include "service/frames/windows.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/check.h"

namespace millrace::service {
namespace {

using std::chrono::nanoseconds;

/// Ten seconds at 400 readings a second.
constexpr std::size_t kMaxReadings = 4000;

double Seconds(nanoseconds time) { return std::chrono::duration<double>(time).count(); }

/// Appends `reading` and removes readings that no window ending at its time or later contains.
template <typename Reading>
void Append(std::deque<Reading>& readings, const Reading& reading) {
  readings.push_back(reading);
  while (readings.size() > kMaxReadings || readings.front().time < reading.time - kWindow) {
    readings.pop_front();
  }
}

template <typename Reading>
auto FirstInWindow(const std::deque<Reading>& readings, nanoseconds now) {
  return std::find_if(readings.begin(), readings.end(),
                      [now](const Reading& reading) { return reading.time >= now - kWindow; });
}

}  // namespace

void RateWindow::Record(nanoseconds time, std::uint64_t count) {
  Append(readings_, Reading{time, count});
}

double RateWindow::PerSecond(nanoseconds now, std::uint64_t count) const {
  const auto first = FirstInWindow(readings_, now);
  if (first == readings_.end() || count <= first->count) return 0;
  const auto counts = static_cast<double>(count - first->count);
  double elapsed = Seconds(now - first->time);
  if (const Reading& last = readings_.back(); last.count == count) {
    // The time since the last count matters only when the next count is late.
    const double between = Seconds(last.time - first->time);
    elapsed = std::max(between, elapsed - between / counts);
  }
  return elapsed > 0 ? counts / elapsed : 0;
}

void DelayWindow::Record(nanoseconds time, nanoseconds delay) {
  Append(readings_, Reading{time, delay});
}

double DelayWindow::Quantile(double quantile, nanoseconds now) const {
  MILLRACE_CHECK(quantile > 0 && quantile <= 1);
  std::vector<nanoseconds> delays;
  for (auto it = FirstInWindow(readings_, now); it != readings_.end(); ++it) {
    delays.push_back(it->delay);
  }
  if (delays.empty()) return 0;
  const auto rank =
      static_cast<std::ptrdiff_t>(std::ceil(quantile * static_cast<double>(delays.size()))) - 1;
  std::nth_element(delays.begin(), delays.begin() + rank, delays.end());
  return Seconds(delays[static_cast<std::size_t>(rank)]);
}

void MeanWindow::Record(double value) {
  values_.push_back(value);
  if (values_.size() > kLossWindow) values_.pop_front();
}

double MeanWindow::mean() const {
  if (values_.empty()) return 0;
  return std::accumulate(values_.begin(), values_.end(), 0.0) / static_cast<double>(values_.size());
}

}  // namespace millrace::service
