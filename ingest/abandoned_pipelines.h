// Pipelines that did not end in time, and may never: how many there are, and how many there may be.
//
// GStreamer cannot be made to end. Where a camera brings it to hang, its pipeline is left behind
// with its threads and its memory, and nobody waits for it any more. Each one is counted, so that
// one camera leaves a few behind and no more.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace millrace::ingest {

/// Of all sources of this process.
struct AbandonedPipelines {
  std::int64_t so_far = 0;   ///< Never falls.
  std::int64_t hanging = 0;  ///< Those that have not ended by themselves since.
};
/// Thread-safe, as all that follows.
[[nodiscard]] AbandonedPipelines CountAbandoned();

/// So many hang at most of one owner, and so many in all.
inline constexpr std::int64_t kMostHangingOfOne = 3;
inline constexpr std::int64_t kMostHanging = 64;

/// How many of this owner's hang.
[[nodiscard]] std::int64_t HangingOf(const std::string& owner);

/// RESOURCE_EXHAUSTED, saying what to do, where too many hang for `owner` to begin another.
[[nodiscard]] absl::Status MayBegin(const std::string& owner);

/// A pipeline of `owner` is left behind. Returns how many of this owner's hang. `owner`: the camera
/// stream, or the URI without credentials of what belongs to none.
std::int64_t Abandon(const std::string& owner);
/// One that was left behind has ended after all.
void EndAbandoned(const std::string& owner);

}  // namespace millrace::ingest
