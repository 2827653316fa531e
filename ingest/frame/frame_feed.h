// Turns decoded pictures into numbered frames and queues them: the one way in, for every source.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "base/mutex.h"
#include "ingest/frame/frame.h"
#include "ingest/frame/frame_queue.h"
#include "ingest/frame/gap_detector.h"
#include "ingest/frame/rate_limit.h"

namespace millrace::ingest {

/// What a decoder hands over: a picture and the times that travelled with it.
struct DecodedPicture {
  std::shared_ptr<const Picture> picture;  ///< Shared because a frame keeps the one before it.
  /// As in Frame. Absent where the stream has none.
  std::optional<std::chrono::nanoseconds> stream_time;
  std::optional<std::chrono::nanoseconds> duration;
  std::optional<std::chrono::nanoseconds> camera_time;
  /// Whatever the times say, none is missing between the one before and this.
  bool follows = false;
  std::shared_ptr<FrameTicket> ticket = nullptr;  ///< As in Frame.
};

/// Gives each picture its number, epoch, arrival and predecessor, and pushes it to the queue.
///
/// Thread-safe, but Take() must not run twice at a time: frames would change places. Must outlive
/// the threads that feed it.
class FrameFeed {
 public:
  /// Whose times count for the greatest rate.
  enum class Times {
    kOfStream,      ///< Its own alone, however fast it comes: a file's, a client's.
    kAndOfArrival,  ///< A camera may lie about its own.
  };

  /// `clock` stamps arrivals and must outlive the feed.
  FrameFeed(const Clock& clock, std::size_t capacity, WhenFull when_full,
            double max_frames_per_second = 0, Times times = Times::kOfStream);

  /// Takes the next picture of the stream, or skips it, as if it had never been, where there are
  /// more a second than there may be. Waits for room if the queue does. Returns whether it is a
  /// frame.
  bool Take(DecodedPicture decoded) ABSL_LOCKS_EXCLUDED(mu_);

  /// The next picture begins a new epoch. Without a picture in between, calling twice is like
  /// calling once: an epoch has frames.
  void BeginEpoch() ABSL_LOCKS_EXCLUDED(mu_);
  /// The same, because the camera's pictures are of another size from now on.
  void ChangeSize() ABSL_LOCKS_EXCLUDED(mu_);

  [[nodiscard]] FrameQueue& queue() { return queue_; }
  /// The epoch of the newest frame; 0 before the first.
  [[nodiscard]] std::int64_t epoch() const ABSL_LOCKS_EXCLUDED(mu_);
  /// Frames so far.
  [[nodiscard]] std::int64_t frames() const ABSL_LOCKS_EXCLUDED(mu_);
  /// Pictures that were skipped so far.
  [[nodiscard]] std::int64_t skipped() const ABSL_LOCKS_EXCLUDED(mu_);
  /// Calls of ChangeSize() so far.
  [[nodiscard]] std::int64_t size_changes() const ABSL_LOCKS_EXCLUDED(mu_);
  /// How far apart the camera's pictures are of late, skipped ones too, by the stream's own clock;
  /// nullopt until known.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> PictureInterval() const
      ABSL_LOCKS_EXCLUDED(mu_);

 private:
  /// nullopt: it is skipped.
  [[nodiscard]] std::optional<Frame> Stamp(DecodedPicture decoded) ABSL_LOCKS_EXCLUDED(mu_);

  // Constant after construction.
  const Clock& clock_;

  // Self-synchronized.
  FrameQueue queue_;

  mutable Mutex mu_;
  GapDetector pictures_ ABSL_GUARDED_BY(mu_);  ///< Of all; only their typical step is asked for.
  GapDetector gaps_ ABSL_GUARDED_BY(mu_);      ///< Between those that were not skipped.
  RateLimit limit_ ABSL_GUARDED_BY(mu_);
  ArrivalLimit arrival_limit_ ABSL_GUARDED_BY(mu_);
  std::int64_t skipped_ ABSL_GUARDED_BY(mu_) = 0;
  std::shared_ptr<const Picture> previous_ ABSL_GUARDED_BY(mu_);  ///< Null at an epoch's start.
  std::shared_ptr<const Picture> before_ ABSL_GUARDED_BY(mu_);  ///< The newest frame's `previous`.
  std::chrono::nanoseconds epoch_start_ ABSL_GUARDED_BY(mu_){0};
  std::int64_t next_number_ ABSL_GUARDED_BY(mu_) = 0;
  std::int64_t epoch_ ABSL_GUARDED_BY(mu_) = 0;
  std::int64_t gaps_seen_ ABSL_GUARDED_BY(mu_) = 0;
  std::int64_t size_changes_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace millrace::ingest
