// One GStreamer pipeline, from wherever video comes to pictures of one size.
//
//   head, by source            tail, the same for all
//   filesrc ! decodebin   ┐
//   rtspsrc ! decodebin   ├─▶  queue ! videoscale ! videoconvert ! RGB ! appsink ──▶ listener
//   videotestsrc          ┘
//
// Scaling comes before converting because it is cheaper so. The picture is scaled to the size that
// just covers the grid; what is left over is cropped while rows are copied (grid.h). Nothing in it
// drops frames: the appsink is emptied by its own callback, and what to do with a frame that nobody
// wants yet is the FrameQueue's to decide, which counts what it drops.
//
// GStreamer may hang, so its elements (pipeline_elements.h) change their state on a thread of their
// own (state_thread.h), and whoever uses a pipeline waits for neither longer than for a limit.
#pragma once

#include <gio/gio.h>
#include <gst/gst.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ingest/abandoned_pipelines.h"
#include "ingest/frame_feed.h"
#include "ingest/grid.h"
#include "ingest/source.h"
#include "ingest/state_thread.h"

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

/// Hears from a pipeline, on GStreamer's threads. OnPicture() may wait, which holds the pipeline
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

struct PipelineOptions {
  /// Its head in gst-launch's words, with one element named `source`.
  std::string head;
  /// Sets on the source what text cannot carry. May be empty; what it fails with, Create() does.
  std::function<absl::Status(GstElement& source)> configure;
  /// Says what an error means that the pipeline has posted, with its debug text or null. Runs on a
  /// thread of GStreamer, and may wait until `stop` is cancelled. Empty: the words are GStreamer's.
  std::function<absl::Status(GstElement& source, const GError& error, const gchar* detail,
                             GCancellable& stop)>
      explain = {};
  /// Of the grid, in pixels: pictures are scaled to cover it, and cropped.
  int width = 0;
  int height = 0;
  HardwareDecode hardware_decode = HardwareDecode::kAuto;
  /// Frees the threads of the source that wait for each other, on the thread that is about to end
  /// it. It may hang. May be empty.
  std::function<void(GstElement& source)> unblock = {};
  /// Ends the source's waits for the network, from any thread. It must not wait. May be empty.
  std::function<void(GstElement& source)> cut = {};
  /// It fails once its source has sent so many bytes without a picture. 0: it may send any number.
  std::int64_t most_unshown_bytes = 0;
  PipelineOwner owner = {};
  EndLimits end = {};
};

/// A pipeline. Calls must come from one thread at a time, and not from the listener's. The
/// destructor ends it.
class GstPicturePipeline {
 public:
  /// Builds the pipeline, at rest. `listener` must outlive it. Fails with FAILED_PRECONDITION if
  /// this GStreamer lacks an element, as `configure` does, and as PipelineSlot::Take().
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<GstPicturePipeline>> Create(
      const PipelineOptions& options, PipelineListener& listener);

  /// Whether it could be built: what Create() would fail with.
  [[nodiscard]] static absl::Status Check(const PipelineOptions& options);

  ~GstPicturePipeline();
  GstPicturePipeline(const GstPicturePipeline&) = delete;
  GstPicturePipeline& operator=(const GstPicturePipeline&) = delete;

  /// Makes ready to show the first picture, and shows none. Never waits. What goes wrong is an
  /// outcome.
  void Prepare() { thread_.Want(GST_STATE_PAUSED); }
  /// Lets pictures come. Never waits. What goes wrong is an outcome.
  void Play() { thread_.Want(GST_STATE_PLAYING); }
  /// What the video is compressed with, in words. Empty where nothing is decoded, or not yet.
  [[nodiscard]] std::string Codec() const;

  /// Begins to end it, as StateThread::BeginEnd(): for several that are to end at once.
  void BeginEnd() { thread_.BeginEnd(); }
  /// Ends it: afterwards the listener hears nothing more. Waits for what the listener does, and for
  /// GStreamer `options.end` at most. Returns whether it has ended by then; if not, it is left
  /// behind (abandoned_pipelines.h). Idempotent.
  bool End() { return thread_.End(); }

 private:
  GstPicturePipeline(std::shared_ptr<PipelineElements> elements, PipelineSlot slot,
                     const EndLimits& end);

  const std::shared_ptr<PipelineElements> elements_;
  StateThread thread_;
};

}  // namespace millrace::ingest
