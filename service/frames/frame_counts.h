// Counts of all frames by their outcome. No frame is lost without a count:
//
//   received = predicted + dropped (for any reason) + in flight
//
// is true in every snapshot.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace millrace::service {

/// Why a frame has no prediction.
enum class DropReason {
  kQueueFull,      ///< A newer frame displaced it in the queue.
  kNoPredecessor,  ///< First frame of its epoch; for the next frame, also the second.
  kGap,            ///< Frames before it are missing from the camera stream.
  kRejected,       ///< The learner rejected it, or failed while it was in flight.
  kShutdown,       ///< The stream ended first.
  kPaused,         ///< The learner was paused.
  kRanksLost,      ///< Processes on other hosts were missing, or were lost while it was in flight.
};
inline constexpr std::size_t kDropReasons = 7;

/// "queue_full", "no_predecessor", "gap", "rejected", "shutdown", "paused", "ranks_lost".
[[nodiscard]] std::string_view Name(DropReason reason);

/// Frames by their outcome.
struct FrameCounts {
  std::uint64_t received = 0;
  std::uint64_t predicted = 0;
  std::array<std::uint64_t, kDropReasons> dropped{};
  /// Frames that wait in the queue or are inside the pipeline.
  std::uint64_t in_flight = 0;
  /// Frames in `in_flight` that no component holds any more; any value but 0 is a bug. Only
  /// FrameLedger::Audit() sets it.
  std::uint64_t lost = 0;

  bool operator==(const FrameCounts&) const = default;

  [[nodiscard]] std::uint64_t dropped_in_all() const {
    std::uint64_t sum = 0;
    for (std::uint64_t count : dropped) sum += count;
    return sum;
  }
};

}  // namespace millrace::service
