#include "service/registry/stream_record.h"

#include <algorithm>
#include <cmath>

namespace millrace::service {
namespace {

using Seconds = std::chrono::duration<double>;

constexpr std::size_t kHistorySeconds = 600;

// In seconds: frame periods and promised delays, so close that quantiles from the histogram are
// accurate to a third. With +Inf, 20 series per stream.
const prometheus::Histogram::BucketBoundaries& DelayBuckets() {
  static const prometheus::Histogram::BucketBoundaries buckets = {
      0.002, 0.005, 0.010, 0.020, 0.033, 0.040, 0.050, 0.066, 0.082, 0.100,
      0.133, 0.166, 0.200, 0.270, 0.360, 0.500, 1.0,   2.0,   5.0};
  return buckets;
}

double Rate(double count, std::chrono::nanoseconds time) {
  return time.count() > 0 ? count / Seconds(time).count() : 0;
}

}  // namespace

std::chrono::nanoseconds StreamRecord::StreamTime::Of(const Prediction& prediction) {
  if (prediction.epoch != epoch_) {
    epoch_ = prediction.epoch;
    added_ = newest_ - prediction.stream_time;
  }
  newest_ = std::max(newest_, prediction.stream_time + added_);
  return newest_;
}

StreamRecord::StreamRecord(const Clock& clock, std::chrono::nanoseconds start,
                           std::chrono::nanoseconds window)
    : clock_(clock), start_(start), scores_(window), delays_(DelayBuckets()) {}

void StreamRecord::Record(const Prediction& prediction) {
  const std::chrono::nanoseconds now = clock_.Now();
  MutexLock lock(mu_);
  last_ = {
      .frame_number = prediction.frame_number, .arrival = now - prediction.delay, .emission = now};
  if (!first_.has_value()) first_ = last_;
  ++sums_.predictions;
  sums_.delays.Add(prediction.delay);
  delays_.Observe(Seconds(prediction.delay).count());
  RecordScore(prediction);
  RecordLoss(prediction);
}

void StreamRecord::RecordScore(const Prediction& prediction) {
  const pipeline::ModelPrediction& model = prediction.model;
  if (model.outputs != nullptr) return;  // Labels score it later (frame_labels.h).
  pipeline::Score score{.stream_time = stream_time_.Of(prediction),
                        .loss = model.loss,
                        .loss_no_motion = model.loss_no_motion,
                        .learned_from = model.skipped == pipeline::SkipReason::kNone};
  if (prediction.comparison) {
    score.loss = prediction.comparison->loss;
    score.loss_no_motion = prediction.comparison->loss_no_motion;
    score.loss_reference = prediction.comparison->loss_reference;
  }
  if (const auto closed = scores_.Add(score)) sums_.window = closed;
}

void StreamRecord::RecordLoss(const Prediction& prediction) {
  const pipeline::ModelPrediction& model = prediction.model;
  if (!model.finite) {
    ++sums_.not_finite;
    return;
  }
  if (!model.has_loss()) return;
  sums_.loss_sum += model.loss;
  sums_.loss_no_motion_sum += model.loss_no_motion;
  sums_.loss_term_sums.resize(model.terms.size());
  for (std::size_t i = 0; i < model.terms.size(); ++i) {
    if (std::isfinite(model.terms[i])) sums_.loss_term_sums[i] += model.terms[i];
  }
  if (const std::int64_t second = SecondNow(); second != open_.sum.second) {
    CloseSecond();
    open_.sum.second = second;
  }
  open_.sum.loss += model.loss;
  open_.sum.loss_no_motion += model.loss_no_motion;
  ++open_.count;
  recent_.Record(prediction);
}

void StreamRecord::CloseSecond() {
  if (open_.count > 0) {
    const RecentLearning recent = recent_.Recent();
    history_.push_back({.second = open_.sum.second,
                        .loss = open_.sum.loss / open_.count,
                        .loss_no_motion = open_.sum.loss_no_motion / open_.count,
                        .recent_loss = recent.loss,
                        .recent_loss_no_motion = recent.loss_no_motion});
    if (history_.size() > kHistorySeconds) history_.pop_front();
  }
  open_ = {};
}

RunStats StreamRecord::Stats() const {
  MutexLock lock(mu_);
  RunStats stats = sums_;
  stats.scores = scores_.whole();
  if (first_.has_value()) {
    stats.rate_in = Rate(static_cast<double>(last_.frame_number - first_->frame_number),
                         last_.arrival - first_->arrival);
    stats.rate_out =
        Rate(static_cast<double>(sums_.predictions - 1), last_.emission - first_->emission);
    stats.seconds = Seconds(last_.emission - first_->arrival).count();
  }
  return stats;
}

std::uint64_t StreamRecord::predictions() const {
  MutexLock lock(mu_);
  return sums_.predictions;
}

prometheus::ClientMetric StreamRecord::DelayMetric() const {
  MutexLock lock(mu_);
  return delays_.Collect();
}

std::vector<LossPoint> StreamRecord::HistoryAfter(std::int64_t second) const {
  MutexLock lock(mu_);
  std::vector<LossPoint> points;
  for (const LossPoint& point : history_) {
    if (point.second > second) points.push_back(point);
  }
  return points;
}

std::int64_t StreamRecord::SecondNow() const {
  return std::chrono::duration_cast<std::chrono::seconds>(clock_.Now() - start_).count();
}

}  // namespace millrace::service
