// One decoded picture of a camera stream, with the three clocks that time it kept apart.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "ingest/frame/frame_ticket.h"

namespace millrace::ingest {

/// Pixels as red, green, blue bytes, rows first and without padding: height * width * 3 bytes.
/// Immutable once made, so that threads may share it.
struct Picture {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> rgb;
};

/// Why a frame comes without its predecessor.
enum class NoPredecessor {
  kHasOne,  ///< It comes with one.
  kFirst,   ///< It is the first of its epoch.
  kGap,     ///< The stream's own timestamps say that frames before it are missing.
};

/// One decoded picture. Cheap to copy: the pictures are shared and immutable.
struct Frame {
  /// Counts from 0 over the source's whole life, across epochs. Frames that are dropped later keep
  /// their numbers, so a missing number is a lost frame.
  std::int64_t number = 0;
  /// Rises by one with every reconnect, change of the picture size and new round of a looped file.
  std::int64_t epoch = 0;

  /// When the decoder handed the frame over, on the monotonic clock. Delays are measured from here.
  std::chrono::nanoseconds arrival{0};
  /// Its presentation timestamp: the stream's own clock, from an arbitrary start in each epoch.
  std::chrono::nanoseconds stream_time{0};
  /// When the camera took it, since 1970-01-01 UTC. Absent unless the camera tells (RTCP sender
  /// reports), which is often.
  std::optional<std::chrono::nanoseconds> camera_time;

  std::shared_ptr<const Picture> picture;
  /// The picture before this one in the camera stream, kept even when that frame itself was
  /// dropped from the queue, so that overload never tears a pair apart. Null as `predecessor` says.
  std::shared_ptr<const Picture> previous;
  /// The picture before `previous`, kept likewise. Null where either of the two has no predecessor.
  std::shared_ptr<const Picture> before;
  NoPredecessor predecessor = NoPredecessor::kFirst;

  /// Gaps in the stream, and changes of the camera's picture size, from its start up to this frame.
  /// Counts, so that they survive the frame right after one being dropped.
  std::int64_t gaps = 0;
  std::int64_t size_changes = 0;

  /// Who waits to hear what becomes of it; null: nobody.
  std::shared_ptr<FrameTicket> ticket;
};

}  // namespace millrace::ingest
