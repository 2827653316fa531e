// Watches one stream for overload, finds the remedies, and says it once.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "pipeline/learner/learner_description.h"
#include "service/config/config.h"
#include "service/frames/load_window.h"
#include "service/overload/idle_cores.h"
#include "service/overload/overload.h"
#include "service/overload/overload_judge.h"

namespace millrace::service {

/// What `learner` promises for a camera that announces so many frames a second, of which the source
/// lets at most `max_frames_per_second` through; 0: not known, or no limit.
[[nodiscard]] Promise PromiseOf(const pipeline::LearnerDescription& learner,
                                double camera_frames_per_second, double max_frames_per_second);

/// Thread-safe. It judges at each look, so somebody has to look every few seconds: HealthReporter
/// does.
class OverloadWatch {
 public:
  using Tell = std::function<void(const Overload&)>;
  struct Options {
    /// For the log.
    std::string stream = {};
    /// Called when the kind of overload changes, under a lock: it must be quick, and not call back.
    /// May be empty.
    Tell tell = {};
    std::function<CpuTimes()> cpu_times = &ReadCpuTimes;
  };
  /// A stream at one moment.
  struct Seen {
    OverloadReading reading;
    const StreamConfig& config;
    const pipeline::LearnerDescription& learner;
    const std::vector<StageLoad>& loads;
  };
  struct Verdict {
    Overload overload;
    Promise promise;
  };

  explicit OverloadWatch(Options options) : options_(std::move(options)) {}

  OverloadWatch(const OverloadWatch&) = delete;
  OverloadWatch& operator=(const OverloadWatch&) = delete;

  /// How the stream stands by now. Logs and tells what has changed.
  Verdict Look(const Seen& seen) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  void Update(const Seen& seen) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  [[nodiscard]] double CoresIdleSince(nanoseconds now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Log(const Verdict& now, const OverloadReading& reading) const;

  // Constant after construction.
  const Options options_;

  Mutex mu_;  // Held while it is told.
  OverloadJudge judge_ ABSL_GUARDED_BY(mu_);
  Overload overload_ ABSL_GUARDED_BY(mu_);
  CpuTimes cpu_times_ ABSL_GUARDED_BY(mu_);  // As read at the end of the last span.
  nanoseconds read_at_ ABSL_GUARDED_BY(mu_){0};
};

}  // namespace millrace::service
