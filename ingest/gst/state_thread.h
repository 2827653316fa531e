// Changes a pipeline's state on a separate thread, because GStreamer may hang forever.
//
//   owner            Want(PAUSED)   Want(PLAYING)            End() ── waits for the limit at most
//                        │              │                      │
//   thread "pipeline"    └▶ PAUSED ─────┴▶ PLAYING ─ ... ──────┴▶ NULL ─▶ ended
//
// A pipeline first tries to change to NULL, so that an RTSP camera receives a TEARDOWN. If that
// takes long, the thread's owner cuts its connections, which ends most waits for a camera. If it
// still hangs, it is abandoned (abandoned_pipelines.h): the thread owns the elements from then on,
// and is detached. No other thread is detached (docs/decisions/0026-pipelines-that-hang.md).
#pragma once

#include <gst/gst.h>

#include <chrono>
#include <memory>
#include <optional>
#include <thread>

#include "ingest/source/abandoned_pipelines.h"

namespace millrace::ingest {

class PipelineElements;

/// Calls must come from one thread at a time.
class StateThread {
 public:
  /// Starts its thread at the caller's priority.
  StateThread(std::shared_ptr<PipelineElements> elements, PipelineSlot slot,
              const EndLimits& limits);
  /// Ends it.
  ~StateThread() { static_cast<void>(End()); }
  StateThread(const StateThread&) = delete;
  StateThread& operator=(const StateThread&) = delete;

  /// Requests a change to `state` as the next one. Never waits. A failure is an outcome of the
  /// pipeline.
  void Want(GstState state);

  /// Starts the end of the pipeline. Waits only for a running call of the listener; afterwards the
  /// listener is not called again. Idempotent.
  void BeginEnd();
  /// Ends the pipeline. Returns false and abandons the pipeline if it does not end within the
  /// limits, counted from BeginEnd(). Idempotent.
  bool End();

 private:
  struct Work;

  static void Run(const std::shared_ptr<Work>& work);

  // Constant after construction.
  const EndLimits limits_;
  const std::shared_ptr<Work> work_;  ///< Shared with the thread, which may outlive this object.

  // Used by the owner's thread only.
  std::optional<std::chrono::steady_clock::time_point> ending_since_;
  bool has_ended_ = false;
  std::thread thread_;  ///< Not joinable after End().
};

}  // namespace millrace::ingest
