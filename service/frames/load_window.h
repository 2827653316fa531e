// The share of the last ten seconds during which each stage of a learner worked.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "pipeline/plan/stage_time.h"

namespace millrace::service {

/// The load of one stage. Each value is from 0 to 1; their sum is at most a little more.
struct StageLoad {
  double predicting = 0;
  double learning = 0;
};

/// How busy the link from one rank of a network to another one is. See LinkFigures.
struct LinkLoad {
  int from = 0;
  int to = 0;
  /// From 0 to 1, or a little more.
  double share = 0;
};

/// The busiest one; nullopt without links.
[[nodiscard]] std::optional<LinkLoad> BusiestOf(const std::vector<LinkLoad>& links);

/// The caller passes the time, and the owner's lock protects it, as in windows.h.
class LoadWindow {
 public:
  /// Records the total work of the stages by `now`. Skips readings shortly after the previous one,
  /// to limit their number. REQUIRES: time does not go backwards.
  void Record(nanoseconds now, const std::vector<pipeline::StageTime>& worked);

  /// The loads, if the stages' total work by `now` is `worked`; first stage first. Empty without an
  /// earlier reading, and if the work is unknown.
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
