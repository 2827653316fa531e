// Accumulates statistics of one camera stream's whole run.
//
// A stream's snapshot covers only the last seconds. The summary, the metrics' running sums and the
// page's chart need the whole run, in a fixed amount of memory.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "pipeline/decisions/score_windows.h"
#include "prometheus/client_metric.h"
#include "prometheus/histogram.h"
#include "service/frames/learning_window.h"
#include "service/frames/prediction.h"
#include "service/registry/summary_delays.h"
#include "service/stream/camera_stream.h"

namespace millrace::service {

/// The loss over one second; seconds count from the server's start.
struct LossPoint {
  std::int64_t second = 0;
  double loss = 0;
  double loss_no_motion = 0;
  /// StreamSnapshot::recent at the end of the second.
  double recent_loss = 0;
  double recent_loss_no_motion = 0;
};

/// The statistics of one stream's run so far.
struct RunStats {
  std::uint64_t predictions = 0;
  /// Predictions with a non-finite value. Their losses are in no sum.
  std::uint64_t not_finite = 0;
  /// Rates over the frames from the first predicted one to the last: arrived frames per second,
  /// including dropped ones, and predictions per second. 0 before the second prediction.
  double rate_in = 0;
  double rate_out = 0;
  double seconds = 0;
  DelayHistogram delays;
  double loss_sum = 0;
  double loss_no_motion_sum = 0;
  /// Prequential scores: over the whole run, and over the last full window of the stream's own
  /// time.
  pipeline::ScoreSummary scores;
  std::optional<pipeline::ScoreWindow> window = {};
  /// Sums of the terms of the loss, in the order of FlowLossTerms().
  std::vector<double> loss_term_sums = {};
};

/// Records the predictions of one stream, and must outlive it. Thread-safe.
class StreamRecord {
 public:
  /// `clock` must outlive the record. Seconds of the history count from `start` on that clock.
  /// `window`: the length of a window of the scores.
  StreamRecord(const Clock& clock, std::chrono::nanoseconds start,
               std::chrono::nanoseconds window = std::chrono::seconds(60));

  StreamRecord(const StreamRecord&) = delete;
  StreamRecord& operator=(const StreamRecord&) = delete;

  /// Records one prediction; set as CameraStream::Options::observe.
  void Record(const Prediction& prediction) ABSL_LOCKS_EXCLUDED(mu_);

  [[nodiscard]] RunStats Stats() const ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] std::uint64_t predictions() const ABSL_LOCKS_EXCLUDED(mu_);
  /// The delays as a Prometheus histogram.
  [[nodiscard]] prometheus::ClientMetric DelayMetric() const ABSL_LOCKS_EXCLUDED(mu_);
  /// Points of the last ten minutes, for finished seconds after `second`, oldest first.
  [[nodiscard]] std::vector<LossPoint> HistoryAfter(std::int64_t second) const
      ABSL_LOCKS_EXCLUDED(mu_);

 private:
  struct Moment {
    std::int64_t frame_number = 0;
    std::chrono::nanoseconds arrival{0};
    std::chrono::nanoseconds emission{0};
  };
  // The stream's time over all epochs: an epoch continues where the previous one ended.
  class StreamTime {
   public:
    std::chrono::nanoseconds Of(const Prediction& prediction);

   private:
    std::int64_t epoch_ = 0;
    std::chrono::nanoseconds added_{0};
    std::chrono::nanoseconds newest_{0};
  };
  struct OpenSecond {
    LossPoint sum;
    int count = 0;
  };

  [[nodiscard]] std::int64_t SecondNow() const;
  void RecordScore(const Prediction& prediction) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void RecordLoss(const Prediction& prediction) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CloseSecond() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Constant after construction.
  const Clock& clock_;
  const std::chrono::nanoseconds start_;

  mutable Mutex mu_;
  RunStats sums_ ABSL_GUARDED_BY(mu_);
  pipeline::ScoreWindows scores_ ABSL_GUARDED_BY(mu_);
  StreamTime stream_time_ ABSL_GUARDED_BY(mu_);
  std::optional<Moment> first_ ABSL_GUARDED_BY(mu_);
  Moment last_ ABSL_GUARDED_BY(mu_);
  prometheus::Histogram delays_ ABSL_GUARDED_BY(mu_);
  OpenSecond open_ ABSL_GUARDED_BY(mu_);
  LearningWindow recent_ ABSL_GUARDED_BY(mu_);
  std::deque<LossPoint> history_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millrace::service
