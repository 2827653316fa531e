// How the processes of a learner stand, for pages, metrics and the API.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"

namespace millrace::pipeline {

/// What one rank has sent to another one in all groups so far: inputs, activations and gradients.
struct LinkFigures {
  int from = 0;
  int to = 0;
  std::int64_t bytes = 0;
  /// The time that these bytes take on the link, by its speed when the group began.
  nanoseconds busy{0};
};

struct RankFigures {
  /// Processes that the plan needs, with this one.
  int expected = 1;
  /// The processes that have joined, with this one.
  int joined = 1;
  /// The processes by rank, such as "process 17 on gpu2". Empty until all have joined.
  std::vector<std::string> names = {};
  /// Groups so far. All processes of a group have joined.
  std::int64_t groups = 0;
  /// Groups that ended because a process was lost.
  std::int64_t lost = 0;
  /// Of each pair of ranks, in a fixed order, as far as they are known here. Others' are some
  /// hundred milliseconds old.
  std::vector<LinkFigures> links = {};
};

}  // namespace millrace::pipeline
