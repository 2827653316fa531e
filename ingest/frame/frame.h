// One decoded picture of a camera stream, with its times on three separate clocks.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "ingest/frame/frame_loss_observer.h"

namespace millrace::ingest {

/// Pixels as red, green, blue bytes, rows first and without padding: height * width * 3 bytes.
/// Immutable once made, so that threads may share it.
struct Picture {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> rgb;
};

/// Why a frame has no predecessor.
enum class NoPredecessor {
  kHasOne,  ///< It has one.
  kFirst,   ///< It is the first frame of its epoch.
  kGap,     ///< By the stream's timestamps, frames before it are missing.
};

/// One decoded picture. Cheap to copy: the pictures are shared and immutable.
struct Frame {
  /// Counts from 0 over the source's lifetime, across epochs. A frame that is dropped later keeps
  /// its number, so a missing number is a lost frame.
  std::int64_t number = 0;
  /// Increases by one at a reconnect, a new picture size and a new round of a looped file.
  std::int64_t epoch = 0;

  /// The time of arrival from the decoder, on the monotonic clock. Delays are measured from here.
  std::chrono::nanoseconds arrival{0};
  /// The presentation timestamp: the stream's own clock, with an arbitrary start in each epoch.
  std::chrono::nanoseconds stream_time{0};
  /// The time of exposure, since 1970-01-01 UTC. Often absent: the camera must send it (RTCP sender
  /// reports).
  std::optional<std::chrono::nanoseconds> camera_time;

  std::shared_ptr<const Picture> picture;
  /// The picture before this one in the camera stream. It is kept even if the queue dropped its
  /// frame, so that overload never separates a pair. Null unless `predecessor` is kHasOne.
  std::shared_ptr<const Picture> previous;
  /// The picture before `previous`, kept likewise. Null if this frame or `previous` has no
  /// predecessor.
  std::shared_ptr<const Picture> before;
  NoPredecessor predecessor = NoPredecessor::kFirst;

  /// Gaps in the stream, and changes of the picture size, from its start to this frame. They are
  /// counts, so that the loss of one frame does not hide them.
  std::int64_t gaps = 0;
  std::int64_t size_changes = 0;

  /// Learns whether this frame was lost. May be null.
  std::shared_ptr<FrameLossObserver> loss_observer;
};

}  // namespace millrace::ingest
