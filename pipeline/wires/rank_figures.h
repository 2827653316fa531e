// How the processes of a learner stand, for pages, metrics and the API.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace millrace::pipeline {

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
};

}  // namespace millrace::pipeline
