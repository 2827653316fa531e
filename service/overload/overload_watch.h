// Watches one stream for overload, finds remedies, and reports each change once.
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
#include "service/overload/overload_detector.h"

namespace millrace::service {

/// The promise of `learner` for a camera's announced rate and the source's `max_frames_per_second`.
/// 0: rate unknown, or no limit.
[[nodiscard]] Promise PromiseOf(const pipeline::LearnerDescription& learner,
                                double camera_frames_per_second, double max_frames_per_second);

/// Thread-safe. It evaluates the stream at each Look(), so one component must call Look() every few
/// seconds; HealthReporter does so.
class OverloadWatch {
 public:
  using OnOverload = std::function<void(const Overload&)>;
  struct Options {
    /// The stream's name in the log.
    std::string stream = {};
    /// Called under a lock when the kind of overload changes. It must return quickly and not call
    /// back. May be empty.
    OnOverload on_overload = {};
    std::function<CpuTimes()> cpu_times = &ReadCpuTimes;
  };
  /// A snapshot of a stream.
  struct Input {
    OverloadReading reading;
    const StreamConfig& config;
    const pipeline::LearnerDescription& learner;
    const std::vector<StageLoad>& loads;
    const std::vector<LinkLoad>& links;
  };
  struct Verdict {
    Overload overload;
    Promise promise;
  };

  explicit OverloadWatch(Options options) : options_(std::move(options)) {}

  OverloadWatch(const OverloadWatch&) = delete;
  OverloadWatch& operator=(const OverloadWatch&) = delete;

  /// The current state of the stream. Logs and reports changes.
  Verdict Look(const Input& input) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  void Update(const Input& input) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  [[nodiscard]] double CoresIdleSince(nanoseconds now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Log(const Verdict& now, const OverloadReading& reading) const;

  // Constant after construction.
  const Options options_;

  Mutex mu_;  // Held during `on_overload`.
  OverloadDetector detector_ ABSL_GUARDED_BY(mu_);
  Overload overload_ ABSL_GUARDED_BY(mu_);
  CpuTimes cpu_times_ ABSL_GUARDED_BY(mu_);  // Read at the end of the last span.
  nanoseconds read_at_ ABSL_GUARDED_BY(mu_){0};
};

}  // namespace millrace::service
