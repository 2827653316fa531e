// The entry through which clients push frames into a source without a camera.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ingest/frame/frame_loss_observer.h"
#include "ingest/frame/raw_picture.h"

namespace millrace::ingest {

/// A pushed picture. Its content is borrowed for the call.
struct PushedPicture {
  PictureContent content;
  /// The time of exposure, since 1970-01-01 UTC. If present, gaps are detected by these times. If
  /// absent, each picture follows the one before.
  std::optional<std::chrono::nanoseconds> taken = {};
  /// Learns whether the frame was lost, after kTaken.
  std::shared_ptr<FrameLossObserver> loss_observer = {};
};

/// A client's permission to push. Its destruction allows the next pusher. For one thread at a time.
class Pusher {
 public:
  enum class Result {
    kTaken,    ///< The picture is a frame, and the observer is in use.
    kSkipped,  ///< The rate exceeds SourceOptions::max_frames_per_second.
  };

  virtual ~Pusher() = default;

  /// Decodes and scales the picture, and queues it as the next frame. Waits for room unless the
  /// source behaves as a camera. INVALID_ARGUMENT with the cause if it is no valid picture; then it
  /// makes no frame.
  [[nodiscard]] virtual absl::StatusOr<Result> Push(const PushedPicture& picture) = 0;
};

/// Allows one pusher at a time. Thread-safe. Shared with the source: it may outlive the source, and
/// then refuses every pusher.
class PushEntry {
 public:
  virtual ~PushEntry() = default;

  /// Admits a pusher and begins a new epoch. `on_end` is called once, on any thread, if the source
  /// stops before the pusher is destroyed; it must return quickly. FAILED_PRECONDITION while
  /// another pusher exists, UNAVAILABLE after the source has stopped.
  [[nodiscard]] virtual absl::StatusOr<std::unique_ptr<Pusher>> Enter(
      std::function<void()> on_end) = 0;
};

}  // namespace millrace::ingest
