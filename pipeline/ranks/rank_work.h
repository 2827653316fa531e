// What the ranks of a learner have done, so that the leader can show all of it.
//
//   another rank: RankWork ── TextOf(), RankGroup::Show() ──▶ the leader: WorkOf()
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "pipeline/plan/stage_time.h"

namespace millrace::pipeline {

/// Sums since the rank joined.
struct RankWork {
  /// By stage; zero for stages of other ranks.
  std::vector<StageTime> stages = {};
  /// Bytes with tensors and their heads, by receiving rank; zero for itself.
  std::vector<std::int64_t> sent = {};
  /// The time of 10^6 bytes to the rank below (ProbeLink()).
  nanoseconds megabyte_down{0};

  friend bool operator==(const RankWork&, const RankWork&) = default;
};

/// As text of up to RankGroup::kMaxNews bytes, for some 60 stages and ranks.
[[nodiscard]] std::string TextOf(const RankWork& work);

/// The work of TextOf(). nullopt if the text is not one of its.
[[nodiscard]] std::optional<RankWork> WorkOf(std::string_view text);

}  // namespace millrace::pipeline
