// What became of every frame: the promise that none is lost in silence.
//
//   received = predicted + dropped (for any reason) + in flight
//
// holds in every snapshot, at every moment.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace millrace::service {

/// Why a frame got no prediction.
enum class DropReason {
  kQueueFull,      ///< A fresher frame pushed it out of the queue.
  kNoPredecessor,  ///< It, or for the next frame the one before, is the first of its epoch.
  kGap,            ///< Frames before it are missing from the camera stream.
  kRejected,       ///< The learner could not take it, or failed while it was in flight.
  kShutdown,       ///< The stream ended first.
  kPaused,         ///< The learner was paused.
};
inline constexpr std::size_t kDropReasons = 6;

/// "queue_full", "no_predecessor", "gap", "rejected", "shutdown", "paused".
[[nodiscard]] std::string_view Name(DropReason reason);

/// Frames by what became of them.
struct FrameCounts {
  std::uint64_t received = 0;
  std::uint64_t predicted = 0;
  std::array<std::uint64_t, kDropReasons> dropped{};
  /// Waiting in the queue or inside the pipeline.
  std::uint64_t in_flight = 0;
  /// Of those, frames that nothing holds any more: anything but 0 is a bug. Known only where
  /// somebody has looked (FrameLedger::Audit()).
  std::uint64_t lost = 0;

  bool operator==(const FrameCounts&) const = default;

  [[nodiscard]] std::uint64_t dropped_in_all() const {
    std::uint64_t sum = 0;
    for (std::uint64_t count : dropped) sum += count;
    return sum;
  }
  /// The identity. False is a bug.
  [[nodiscard]] bool balanced() const {
    return received == predicted + dropped_in_all() + in_flight;
  }
};

}  // namespace millrace::service
