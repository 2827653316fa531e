// What makes pictures of a camera's or a file's video, and what hears of them.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/status/status.h"
#include "ingest/frame/frame_feed.h"
#include "ingest/frame/grid.h"

namespace millrace::ingest {

/// The camera's own picture, before scaling.
struct CameraFormat {
  int width = 0;
  int height = 0;
  double frames_per_second = 0;  ///< 0 where the stream does not say.
  double pixel_aspect = 1;       ///< Width of a pixel by its height: 12/11 of a PAL camera's.

  /// Its size in square pixels: with as many rows as the camera has.
  [[nodiscard]] Extent shown() const {
    return {.width = std::max(1, static_cast<int>(std::lround(width * pixel_aspect))),
            .height = std::max(1, height)};
  }

  /// Whether pictures of the one and of the other show the same part of the world. Before the first
  /// format there is nothing to differ from.
  [[nodiscard]] bool SameSize(const CameraFormat& before) const {
    return before.width == 0 || shown() == before.shown();
  }
};

/// Hears from a pipeline, on threads of its own. OnPicture() may wait, which holds the pipeline
/// up; the others must not.
class PipelineListener {
 public:
  virtual ~PipelineListener() = default;
  /// The pictures from now on are of this format.
  virtual void OnFormat(const CameraFormat& format) = 0;
  virtual void OnPicture(DecodedPicture picture) = 0;
  /// Something is wrong, but the pipeline goes on. Often the reason for an end that follows.
  virtual void OnWarning(const absl::Status& warning) = 0;
  /// The pipeline is over: OK at the stream's end, else why. Only the first one counts.
  virtual void OnOutcome(absl::Status outcome) = 0;
};

/// Video on its way to pictures. Calls must come from one thread at a time, and not from the
/// listener's, but for Codec(). The destructor ends it.
class PicturePipeline {
 public:
  virtual ~PicturePipeline() = default;

  /// Lets pictures come. Never waits. What goes wrong is an outcome.
  virtual void Play() = 0;
  /// What the video is compressed with, in words. Empty where nothing is decoded, or not yet. From
  /// any thread.
  [[nodiscard]] virtual std::string Codec() const = 0;
  /// Ends it: afterwards the listener hears nothing more. Waits for what the listener does, and for
  /// the pipeline a few seconds at most. Returns whether it has ended by then. Idempotent.
  virtual bool End() = 0;
};

}  // namespace millrace::ingest
