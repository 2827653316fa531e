// A camera stream's statistics over the recent past, for its snapshots.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "base/mutex.h"
#include "ingest/frame/frame.h"
#include "pipeline/learner/learner.h"
#include "pipeline/plan/stage_time.h"
#include "service/frames/learning_window.h"
#include "service/frames/load_window.h"
#include "service/frames/prediction.h"
#include "service/frames/windows.h"

namespace millrace::service {

/// Holds a stream's windows under one lock. Thread-safe.
class RecentStats {
 public:
  struct Values {
    double frames_per_second_in = 0;
    double predictions_per_second = 0;
    double delay_p50_s = 0;
    double delay_p99_s = 0;
    RecentLearning learning = {};
  };

  /// Records a frame's arrival. Frames that the queue dropped need no call, because the numbers of
  /// the other frames show them. REQUIRES: in the order of the frames.
  void RecordArrival(const ingest::Frame& frame) ABSL_LOCKS_EXCLUDED(mu_);
  /// Records a prediction emitted at `now`. The learning values skip a prediction that is not
  /// finite or has no loss. REQUIRES: in the order of the predictions.
  void RecordPrediction(const Prediction& prediction, std::chrono::nanoseconds now)
      ABSL_LOCKS_EXCLUDED(mu_);

  /// Records the stages' total work by `now`.
  void RecordWork(const std::vector<pipeline::StageTime>& worked, std::chrono::nanoseconds now)
      ABSL_LOCKS_EXCLUDED(mu_);

  /// The same of what the ranks of a network have sent.
  void RecordLinks(const std::vector<pipeline::LinkFigures>& links, std::chrono::nanoseconds now)
      ABSL_LOCKS_EXCLUDED(mu_);

  /// The values at `now`. The next frame to arrive will have the number `next_number`.
  [[nodiscard]] Values At(std::chrono::nanoseconds now, std::int64_t next_number) const
      ABSL_LOCKS_EXCLUDED(mu_);

  /// The stages' loads at `now`, as LoadWindow::At().
  [[nodiscard]] std::vector<StageLoad> LoadsAt(std::chrono::nanoseconds now,
                                               const std::vector<pipeline::StageTime>& worked) const
      ABSL_LOCKS_EXCLUDED(mu_);

  /// The same of links, in their order.
  [[nodiscard]] std::vector<LinkLoad> LinkLoadsAt(
      std::chrono::nanoseconds now, const std::vector<pipeline::LinkFigures>& links) const
      ABSL_LOCKS_EXCLUDED(mu_);

 private:
  mutable Mutex mu_;
  RateWindow in_ ABSL_GUARDED_BY(mu_);
  RateWindow out_ ABSL_GUARDED_BY(mu_);
  DelayWindow delays_ ABSL_GUARDED_BY(mu_);
  LearningWindow learning_ ABSL_GUARDED_BY(mu_);
  std::uint64_t predictions_ ABSL_GUARDED_BY(mu_) = 0;
  LoadWindow loads_ ABSL_GUARDED_BY(mu_);
  LoadWindow links_ ABSL_GUARDED_BY(mu_);  // Their time counts as predicting.
};

}  // namespace millrace::service
