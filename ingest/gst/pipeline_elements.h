// The elements of a GstPicturePipeline, and the callbacks for GStreamer.
//
// The elements may hang forever while GStreamer still calls the callbacks. So callbacks use only
// their own members and a gate to the listener. The owner closes the gate when it abandons the
// elements.
#pragma once

#include <gio/gio.h>
#include <gst/gst.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "ingest/gst/gst_handles.h"
#include "ingest/gst/gst_pipeline.h"
#include "ingest/source/listener_gate.h"

namespace millrace::ingest {

/// The listener for a pipeline's pictures, and their size.
struct PictureReceiver {
  PipelineListener& listener;
  Extent grid;
  std::atomic<std::int64_t> unshown_bytes = 0;  ///< Bytes from the source since the last picture.
};

/// One thread calls SetState() and End(), on which it may hang. All other functions are
/// thread-safe.
class PipelineElements {
 public:
  /// As GstPicturePipeline::Create(). Calls `listener` until Silence() has returned.
  [[nodiscard]] static absl::StatusOr<std::shared_ptr<PipelineElements>> Create(
      const PipelineOptions& options, PipelineListener& listener);
  [[nodiscard]] static absl::Status Check(const PipelineOptions& options);

  PipelineElements(GstOwned<GstElement> pipeline, const PipelineOptions& options,
                   PipelineListener& listener);
  PipelineElements(const PipelineElements&) = delete;
  PipelineElements& operator=(const PipelineElements&) = delete;

  /// A failure is an outcome.
  void SetState(GstState state);
  /// Ends all GStreamer threads. Call it last.
  void End();

  /// Cancels the explanation of an error.
  void Cancel();
  /// Waits for a running call of the listener; after that the listener is not called again.
  void Silence() { listener_.Close(); }
  /// As PipelineOptions::cut.
  void Cut();

  [[nodiscard]] std::string Codec() const;

 private:
  void WatchBus();
  void WatchPictures();
  void WatchFormat();
  void WatchDecoder();
  void WatchSource();

  // Called by GStreamer, with these elements as `self`.
  static GstBusSyncReply OnMessage(GstBus* bus, GstMessage* message, gpointer self);
  static void OnElementAdded(GstBin* bin, GstBin* parent, GstElement* element, gpointer self);
  static gint OnAutoplugSelect(GstElement* decoder, GstPad* pad, GstCaps* caps,
                               GstElementFactory* factory, gpointer self);
  static void OnNoMorePads(GstElement* decoder, gpointer self);
  static void OnSourcePad(GstElement* source, GstPad* pad, gpointer self);
  static GstPadProbeReturn OnData(GstPad* pad, GstPadProbeInfo* info, gpointer self);
  static GstPadProbeReturn OnEvent(GstPad* pad, GstPadProbeInfo* info, gpointer self);

  void HandleMessage(GstMessage* message) ABSL_LOCKS_EXCLUDED(mu_);
  void HandleError(GstMessage* message) ABSL_LOCKS_EXCLUDED(mu_);
  void ScaleTo(const Extent& size);
  [[nodiscard]] absl::Status Explained(absl::Status error) ABSL_LOCKS_EXCLUDED(mu_);

  // Self-synchronized.
  ListenerGate listener_;

  // Constant after construction.
  PictureReceiver receiver_;
  const HardwareDecode hardware_decode_;
  const GstOwned<GstElement> pipeline_;
  const GstOwned<GstElement> source_;
  const decltype(PipelineOptions::explain) explain_;
  const decltype(PipelineOptions::unblock) unblock_;
  const decltype(PipelineOptions::cut) cut_;
  const std::int64_t max_unshown_bytes_;
  const GstOwned<GCancellable> stop_;  ///< Cancelled at the pipeline's end.

  std::atomic<bool> has_failed_ = false;

  Mutex mu_;
  std::string missing_plugin_ ABSL_GUARDED_BY(mu_);  ///< The missing decoder, or empty.
};

}  // namespace millrace::ingest
