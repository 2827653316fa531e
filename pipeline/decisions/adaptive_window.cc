#include "pipeline/decisions/adaptive_window.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace millrace::pipeline {
namespace {

// Bound on the probability that one check takes noise for a change. The usual value of ADWIN's
// implementations. With it, 10,000 values of noise cause at most one alarm.
constexpr double kDelta = 0.002;
// Values between two checks: less than a second of video at ten frames a second, and an eighth of
// the cost.
constexpr int kCheckEvery = 8;
// Shorter parts are not compared: the error of their variance is more than a quarter of it.
constexpr std::int64_t kMinPart = 32;
constexpr std::size_t kMaxPartsOfARow = 5;
// Replaces the range of the values in the bound. Bernstein's inequality requires the whole range.
// For values around a mean, two deviations keep alarms as rare as the bound says (one in two
// hundred runs of 10,000 values). They detect a change of four deviations in half the time.
constexpr double kRangeInDeviations = 2;

}  // namespace

std::optional<AdaptiveWindow::Change> AdaptiveWindow::Add(double value) {
  MILLRACE_CHECK(std::isfinite(value));
  Insert(value);
  if (++added_ % kCheckEvery != 0) return std::nullopt;
  const std::optional<Cut> cut = Look();
  if (!cut) return std::nullopt;
  Drop(cut->older.count);
  return Change{.before = cut->older.mean, .after = cut->newer.mean};
}

void AdaptiveWindow::Restart() {
  rows_.clear();
  all_ = {};
  last_.reset();
}

// Combines means and squares of two parts. Method of Chan, Golub and LeVeque.
AdaptiveWindow::Part AdaptiveWindow::Joined(const Part& a, const Part& b) {
  const std::int64_t count = a.count + b.count;
  if (count == 0) return {};
  const double apart = b.mean - a.mean;
  const double share = static_cast<double>(b.count) / static_cast<double>(count);
  return {.count = count,
          .mean = a.mean + apart * share,
          .squares = a.squares + b.squares + apart * apart * share * static_cast<double>(a.count),
          .steps = a.steps + b.steps};
}

AdaptiveWindow::Part AdaptiveWindow::Without(const Part& whole, const Part& part) {
  const std::int64_t count = whole.count - part.count;
  if (count == 0) return {};
  const double mean = (whole.mean * static_cast<double>(whole.count) -
                       part.mean * static_cast<double>(part.count)) /
                      static_cast<double>(count);
  const double apart = mean - part.mean;
  const double between = apart * apart * static_cast<double>(part.count) *
                         (static_cast<double>(count) / static_cast<double>(whole.count));
  return {.count = count,
          .mean = mean,
          .squares = std::max(0.0, whole.squares - part.squares - between),
          .steps = std::max(0.0, whole.steps - part.steps)};
}

void AdaptiveWindow::Insert(double value) {
  const double step = value - last_.value_or(value);
  last_ = value;
  Part carried{.count = 1, .mean = value, .squares = 0, .steps = step * step};
  all_ = Joined(all_, carried);
  for (std::size_t row = 0;; ++row) {
    if (row == rows_.size()) rows_.emplace_back();
    std::deque<Part>& parts = rows_[row];
    parts.push_back(carried);
    if (parts.size() <= kMaxPartsOfARow) return;
    carried = Joined(parts[0], parts[1]);
    parts.pop_front();
    parts.pop_front();
  }
}

std::optional<AdaptiveWindow::Cut> AdaptiveWindow::Look() const {
  std::optional<Cut> clearest;
  double excess = 1;
  Part older;
  for (auto row = rows_.rbegin(); row != rows_.rend(); ++row) {
    for (const Part& part : *row) {
      older = Joined(older, part);
      const Part newer = Without(all_, older);
      if (newer.count < kMinPart) return clearest;
      if (older.count < kMinPart) continue;
      const double apart = std::abs(older.mean - newer.mean);
      const double by_chance = MaxByChance(older, newer);
      if (apart <= excess * by_chance) continue;
      excess = by_chance > 0 ? apart / by_chance : std::numeric_limits<double>::infinity();
      clearest = Cut{.older = older, .newer = newer};
    }
  }
  return clearest;
}

double AdaptiveWindow::MaxByChance(const Part& older, const Part& newer) const {
  const auto count = static_cast<double>(older.count + newer.count);
  const double variance = (older.squares + newer.squares) / count;
  const double step = (older.steps + newer.steps) / count;
  // (1 + r) / (1 - r), with r computed from the steps.
  const double repeated = step > 0 ? std::max(1.0, 4 * variance / step - 1) : 1;
  const double harmonic =
      1 / (1 / static_cast<double>(older.count) + 1 / static_cast<double>(newer.count)) / repeated;
  const double doubt = std::log(2 * std::log(count) / kDelta);
  const double range = std::min(1.0, kRangeInDeviations * std::sqrt(variance));
  return std::sqrt(2 / harmonic * variance * doubt) + 2 / (3 * harmonic) * range * doubt;
}

void AdaptiveWindow::Drop(std::int64_t values) {
  while (values > 0) {
    while (rows_.back().empty()) rows_.pop_back();
    const Part oldest = rows_.back().front();
    rows_.back().pop_front();
    all_ = Without(all_, oldest);
    values -= oldest.count;
  }
}

}  // namespace millrace::pipeline
