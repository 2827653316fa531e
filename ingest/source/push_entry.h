// Where somebody pushes frames into a source that has no camera.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ingest/frame/frame_ticket.h"
#include "ingest/frame/raw_picture.h"

namespace millrace::ingest {

/// A picture on its way in. What it points to is borrowed for the call.
struct PushedPicture {
  PictureContent content;
  /// When it was taken, since 1970-01-01 UTC. With it, gaps are told from the times; without, each
  /// picture follows the one before.
  std::optional<std::chrono::nanoseconds> taken = {};
  /// Hears what becomes of it, once it is taken.
  std::shared_ptr<FrameTicket> ticket = {};
};

/// Who pushes. Destroying it makes room for the next one. For one thread at a time.
class Pusher {
 public:
  enum class Result {
    kTaken,    ///< The ticket will hear of it, or has heard.
    kSkipped,  ///< There are more a second than SourceOptions::max_frames_per_second.
  };

  virtual ~Pusher() = default;

  /// Decodes and scales it, and hands it on as the next frame. Waits for room unless the source is
  /// told to behave as a camera. INVALID_ARGUMENT, saying why, where the picture is none: then it
  /// was no frame.
  [[nodiscard]] virtual absl::StatusOr<Result> Push(const PushedPicture& picture) = 0;
};

/// One pusher at a time. Thread-safe. Shared with the source: it may outlive that, and takes
/// nothing then.
class PushEntry {
 public:
  virtual ~PushEntry() = default;

  /// Begins a new epoch. `on_end` is called once, from whatever thread, should the source be
  /// stopped before the pusher is gone; it must be quick. FAILED_PRECONDITION while another pusher
  /// is there, UNAVAILABLE once the source is stopped.
  [[nodiscard]] virtual absl::StatusOr<std::unique_ptr<Pusher>> Enter(
      std::function<void()> on_end) = 0;
};

}  // namespace millrace::ingest
