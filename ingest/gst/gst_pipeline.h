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
  /// It may run in a process of its own, which makes these options anew from this (new_pipeline.h).
  std::optional<CameraTask> task = {};
};

/// A pipeline in this process. If it hangs when it is to end it is left behind
/// (abandoned_pipelines.h).
class GstPicturePipeline final : public PicturePipeline {
 public:
  /// Builds the pipeline, at rest. `listener` must outlive it. Fails with FAILED_PRECONDITION if
  /// this GStreamer lacks an element, as `configure` does, and as PipelineSlot::Take().
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<GstPicturePipeline>> Create(
      const PipelineOptions& options, PipelineListener& listener);

  /// Whether it could be built: what Create() would fail with.
  [[nodiscard]] static absl::Status Check(const PipelineOptions& options);

  ~GstPicturePipeline() override;
  GstPicturePipeline(const GstPicturePipeline&) = delete;
  GstPicturePipeline& operator=(const GstPicturePipeline&) = delete;

  /// Makes ready to show the first picture, and shows none. Never waits. What goes wrong is an
  /// outcome.
  void Prepare() { thread_.Want(GST_STATE_PAUSED); }
  void Play() override { thread_.Want(GST_STATE_PLAYING); }
  [[nodiscard]] std::string Codec() const override;

  /// Begins to end it, as StateThread::BeginEnd(): for several that are to end at once.
  void BeginEnd() { thread_.BeginEnd(); }
  /// Waits for GStreamer `options.end` at most.
  bool End() override { return thread_.End(); }

 private:
  GstPicturePipeline(std::shared_ptr<PipelineElements> elements, PipelineSlot slot,
                     const EndLimits& end);

  const std::shared_ptr<PipelineElements> elements_;
  StateThread thread_;
};

}  // namespace millrace::ingest
