// The interfaces of a video pipeline, which makes pictures, and of its listener.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/status/status.h"
#include "ingest/frame/frame_feed.h"
#include "ingest/frame/grid.h"

namespace millrace::ingest {

/// The format of the camera's own pictures, before scaling.
struct CameraFormat {
  int width = 0;
  int height = 0;
  double frames_per_second = 0;  ///< 0 if the stream does not tell.
  double pixel_aspect = 1;       ///< A pixel's width / height: 12/11 for PAL.

  /// The size in square pixels, with the camera's number of rows.
  [[nodiscard]] Extent shown() const {
    return {.width = std::max(1, static_cast<int>(std::lround(width * pixel_aspect))),
            .height = std::max(1, height)};
  }

  /// Whether both formats show the same view. True before the first format, because there is no
  /// difference yet.
  [[nodiscard]] bool SameSize(const CameraFormat& before) const {
    return before.width == 0 || shown() == before.shown();
  }
};

/// Receives a pipeline's events, on the pipeline's threads. OnPicture() may block, which pauses the
/// pipeline. The other functions must not block.
class PipelineListener {
 public:
  virtual ~PipelineListener() = default;
  /// The next pictures have this format.
  virtual void OnFormat(const CameraFormat& format) = 0;
  virtual void OnPicture(DecodedPicture picture) = 0;
  /// A fault after which the pipeline continues. It is often the cause of a later end.
  virtual void OnWarning(const absl::Status& warning) = 0;
  /// The pipeline has ended: OK at the end of the stream, else the cause. Only the first call
  /// counts.
  virtual void OnOutcome(absl::Status outcome) = 0;
};

/// A video pipeline that makes pictures. Except for Codec(), only one thread at a time may call it,
/// and not a thread of the listener. The destructor ends it.
class PicturePipeline {
 public:
  virtual ~PicturePipeline() = default;

  /// Starts the pictures. Never waits. A failure is an outcome.
  virtual void Play() = 0;
  /// The video's codec in words. Empty if no video is decoded, or not yet. Any thread may call it.
  [[nodiscard]] virtual std::string Codec() const = 0;
  /// Ends the pipeline; afterwards the listener is not called again. Waits for a running call of
  /// the listener, and for the pipeline at most a few seconds. Returns whether it has ended.
  /// Idempotent.
  virtual bool End() = 0;
};

}  // namespace millrace::ingest
