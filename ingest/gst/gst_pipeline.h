// One GStreamer pipeline, from any source of video to pictures of one size.
//
//   head, by source            tail, the same for all
//   filesrc ! decodebin   ┐
//   rtspsrc ! decodebin   ├─▶  queue ! videoscale ! videoconvert ! RGB ! appsink ──▶ listener
//   videotestsrc          ┘
//
// Scaling before conversion is cheaper. The picture is scaled to the size that just covers the
// grid, and cropped when its rows are copied (grid.h). The pipeline drops no frame: the appsink's
// own callback empties it, and the FrameQueue drops and counts frames.
//
// GStreamer may hang, so its elements (pipeline_elements.h) change their state on a separate thread
// (state_thread.h). The user of a pipeline waits for that thread only up to a limit.
#pragma once

#include <gio/gio.h>
#include <gst/gst.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ingest/gst/state_thread.h"
#include "ingest/isolation/camera_task.h"
#include "ingest/source/abandoned_pipelines.h"
#include "ingest/source/picture_pipeline.h"
#include "ingest/source/source.h"

namespace millrace::ingest {

struct PipelineOptions {
  /// The head in gst-launch syntax, with one element named `source`.
  std::string head;
  /// Sets properties of the source that text cannot express. May be empty. Create() returns its
  /// error.
  std::function<absl::Status(GstElement& source)> configure;
  /// Explains an error that the pipeline has posted; `detail` is its debug text or null. Runs on a
  /// GStreamer thread, and may wait until `stop` is cancelled. If empty, the error keeps
  /// GStreamer's words.
  std::function<absl::Status(GstElement& source, const GError& error, const gchar* detail,
                             GCancellable& stop)>
      explain = {};
  /// The grid's size in pixels: pictures are scaled to cover it, and cropped.
  int width = 0;
  int height = 0;
  HardwareDecode hardware_decode = HardwareDecode::kAuto;
  /// Frees the source's threads that wait for each other. Runs on the thread that is about to end
  /// the source, and may hang. May be empty.
  std::function<void(GstElement& source)> unblock = {};
  /// Ends the source's waits for the network. Any thread may call it; it must not wait. May be
  /// empty.
  std::function<void(GstElement& source)> cut = {};
  /// The pipeline fails after its source has sent this many bytes without a picture. 0: no limit.
  std::int64_t max_unshown_bytes = 0;
  PipelineOwner owner = {};
  EndLimits end = {};
  /// Allows a separate process, which rebuilds these options from the task (new_pipeline.h).
  std::optional<CameraTask> task = {};
};

/// A pipeline in this process. If it hangs at its end, it is abandoned (abandoned_pipelines.h).
class GstPicturePipeline final : public PicturePipeline {
 public:
  /// Builds the pipeline but does not start it. `listener` must outlive it. FAILED_PRECONDITION if
  /// this GStreamer lacks an element; also fails as `configure` and PipelineSlot::Take() do.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<GstPicturePipeline>> Create(
      const PipelineOptions& options, PipelineListener& listener);

  /// Returns the error that Create() would return.
  [[nodiscard]] static absl::Status Check(const PipelineOptions& options);

  ~GstPicturePipeline() override;
  GstPicturePipeline(const GstPicturePipeline&) = delete;
  GstPicturePipeline& operator=(const GstPicturePipeline&) = delete;

  /// Prepares the pipeline up to its first picture, but shows no picture. Never waits. A failure is
  /// an outcome.
  void Prepare() { thread_.Want(GST_STATE_PAUSED); }
  void Play() override { thread_.Want(GST_STATE_PLAYING); }
  [[nodiscard]] std::string Codec() const override;

  /// Starts the end, as StateThread::BeginEnd(): for several pipelines that end together.
  void BeginEnd() { thread_.BeginEnd(); }
  /// Waits for GStreamer at most `options.end`.
  bool End() override { return thread_.End(); }

 private:
  GstPicturePipeline(std::shared_ptr<PipelineElements> elements, PipelineSlot slot,
                     const EndLimits& end);

  const std::shared_ptr<PipelineElements> elements_;
  StateThread thread_;
};

}  // namespace millrace::ingest
