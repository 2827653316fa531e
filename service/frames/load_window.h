// Which share of the last ten seconds each stage of a learner has worked.
#pragma once

#include <deque>
#include <vector>

#include "base/clock.h"
#include "pipeline/plan/stage_time.h"

namespace millrace::service {

/// Of one stage; from 0 to 1 each, and together at most a little more.
struct StageLoad {
  double predicting = 0;
  double learning = 0;
};

/// Told the time by its caller, and guarded by its owner, as the windows of windows.h.
class LoadWindow {
 public:
  /// The stages had worked for so long at `now`. Readings that come too soon after the one before
  /// are left out, so that there are few. REQUIRES: time does not go backwards.
  void Record(nanoseconds now, const std::vector<pipeline::StageTime>& worked);

  /// Where the stages have worked for so long by `now`; first stage first. Empty before there is a
  /// reading to compare with, and where it is not known how long they worked.
  [[nodiscard]] std::vector<StageLoad> At(nanoseconds now,
                                          const std::vector<pipeline::StageTime>& worked) const;

 private:
  struct Reading {
    nanoseconds time;
    std::vector<pipeline::StageTime> worked;
  };

  std::deque<Reading> readings_;  // Oldest first.
};

}  // namespace millrace::service
