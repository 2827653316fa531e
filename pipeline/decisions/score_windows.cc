#include "pipeline/decisions/score_windows.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"

namespace millrace::pipeline {
namespace {

// The value that the given share of the values does not exceed. REQUIRES: not empty.
double Quantile(std::vector<double>& values, double share) {
  const auto rank = static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + rank, values.end());
  return values[rank];
}

}  // namespace

double ScoreSummary::ratio() const { return loss_no_motion > 0 ? loss / loss_no_motion : 1; }

std::optional<double> ScoreSummary::gain() const {
  if (!loss_reference || *loss_reference >= loss_no_motion) return std::nullopt;
  return (loss_no_motion - loss) / (loss_no_motion - *loss_reference);
}

ScoreWindows::ScoreWindows(std::chrono::nanoseconds length) : length_(length) {
  MILLRACE_CHECK(length.count() > 0);
}

std::optional<ScoreWindow> ScoreWindows::Add(const Score& score) {
  std::optional<ScoreWindow> closed;
  if (start_ && score.stream_time >= *start_ + length_) {
    closed = Open();
    open_ = {};
    losses_.clear();
    *start_ += (score.stream_time - *start_) / length_ * length_;
  }
  if (!start_) start_ = score.stream_time;
  Add(score, open_);
  Add(score, all_);
  if (std::isfinite(score.loss)) losses_.push_back(score.loss);
  whole_ = Summarize(all_, {});
  return closed;
}

std::optional<ScoreWindow> ScoreWindows::Open() const {
  if (!start_ || open_.predictions == 0) return std::nullopt;
  return ScoreWindow{.start = *start_, .summary = Summarize(open_, losses_)};
}

// Welford's method: squared distances from a running mean.
void ScoreWindows::Add(const Score& score, Sums& sums) {
  ++sums.predictions;
  sums.learned_from += score.learned_from ? 1 : 0;
  if (!std::isfinite(score.loss) || !std::isfinite(score.loss_no_motion)) return;
  const double before = sums.finite > 0 ? sums.loss / static_cast<double>(sums.finite) : 0;
  ++sums.finite;
  sums.loss += score.loss;
  sums.no_motion += score.loss_no_motion;
  const double mean = sums.loss / static_cast<double>(sums.finite);
  sums.squares += (score.loss - before) * (score.loss - mean);
  if (!score.loss_reference || !std::isfinite(*score.loss_reference)) return;
  ++sums.with_reference;
  sums.reference += *score.loss_reference;
}

ScoreSummary ScoreWindows::Summarize(const Sums& sums, std::vector<double> losses) {
  ScoreSummary summary{.predictions = sums.predictions, .learned_from = sums.learned_from};
  if (sums.finite == 0) return summary;
  const auto count = static_cast<double>(sums.finite);
  summary.loss = sums.loss / count;
  summary.loss_no_motion = sums.no_motion / count;
  summary.loss_deviation = std::sqrt(sums.squares / count);
  if (sums.with_reference > 0) {
    summary.loss_reference = sums.reference / static_cast<double>(sums.with_reference);
  }
  if (losses.empty()) return summary;
  summary.loss_p10 = Quantile(losses, 0.1);
  summary.loss_p90 = Quantile(losses, 0.9);
  return summary;
}

}  // namespace millrace::pipeline
