// Turns decoded pictures into numbered frames and queues them. Every source uses it.
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

/// A picture from a decoder, with its times.
struct DecodedPicture {
  std::shared_ptr<const Picture> picture;  ///< Shared, because the next frames keep it.
  /// As in Frame. Absent in a stream without times.
  std::optional<std::chrono::nanoseconds> stream_time;
  std::optional<std::chrono::nanoseconds> duration;
  std::optional<std::chrono::nanoseconds> camera_time;
  /// True: no frame is missing before this one, whatever the timestamps say.
  bool follows = false;
  std::shared_ptr<FrameLossObserver> loss_observer = nullptr;  ///< As in Frame.
};

/// Gives each picture its number, epoch, arrival and predecessor, and pushes it to the queue.
///
/// Thread-safe, but only one thread at a time may call Take(), or frames would be out of order.
/// Must outlive the threads that feed it.
class FrameFeed {
 public:
  /// The clock that limits the frame rate.
  enum class Times {
    kOfStream,      ///< The stream's timestamps only, for a file or a client.
    kAndOfArrival,  ///< Arrival too: a camera's timestamps may be wrong.
  };

  /// `clock` stamps arrivals and must outlive the feed.
  FrameFeed(const Clock& clock, std::size_t capacity, WhenFull when_full,
            double max_frames_per_second = 0, Times times = Times::kOfStream);

  /// Queues the next picture of the stream as a frame. Skips it without a trace if the rate would
  /// exceed `max_frames_per_second`. Waits for room if the queue does. Returns whether the picture
  /// is now a frame.
  bool Take(DecodedPicture decoded) ABSL_LOCKS_EXCLUDED(mu_);

  /// The next picture begins a new epoch. An epoch has at least one frame, so a second call without
  /// a picture in between has no effect.
  void BeginEpoch() ABSL_LOCKS_EXCLUDED(mu_);
  /// BeginEpoch() for a change of the camera's picture size.
  void ChangeSize() ABSL_LOCKS_EXCLUDED(mu_);

  [[nodiscard]] FrameQueue& queue() { return queue_; }
  /// The epoch of the newest frame; 0 before the first.
  [[nodiscard]] std::int64_t epoch() const ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] std::int64_t frames() const ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] std::int64_t skipped() const ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] std::int64_t size_changes() const ABSL_LOCKS_EXCLUDED(mu_);
  /// The typical interval of the camera's latest pictures by the stream's clock, skipped ones
  /// included. nullopt until it is known.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> PictureInterval() const
      ABSL_LOCKS_EXCLUDED(mu_);

 private:
  /// Returns nullopt for a skipped picture.
  [[nodiscard]] std::optional<Frame> Stamp(DecodedPicture decoded) ABSL_LOCKS_EXCLUDED(mu_);

  // Constant after construction.
  const Clock& clock_;

  // Self-synchronized.
  FrameQueue queue_;

  mutable Mutex mu_;
  GapDetector pictures_ ABSL_GUARDED_BY(mu_);  ///< All pictures; used only for TypicalStep().
  GapDetector gaps_ ABSL_GUARDED_BY(mu_);      ///< The pictures that are not skipped.
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
