// Has a pipeline change its state on a thread of its own, because that may hang for ever.
//
//   owner            Want(PAUSED)   Want(PLAYING)            End() ── waits for the limit at most
//                        │              │                      │
//   thread "pipeline"    └▶ PAUSED ─────┴▶ PLAYING ─ ... ──────┴▶ NULL ─▶ ended
//
// A pipeline that is told to end goes to NULL in good order first, so that an RTSP camera hears a
// TEARDOWN. If that takes long, its connections are cut, which ends most waits for a camera.
// If it hangs even then it is abandoned (abandoned_pipelines.h): its elements belong to the thread
// from then on, and the thread is detached. No other thread is
// (docs/decisions/0026-pipelines-that-hang.md).
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
  /// Its thread begins, at the priority of the caller.
  StateThread(std::shared_ptr<PipelineElements> elements, PipelineSlot slot,
              const EndLimits& limits);
  /// Ends it.
  ~StateThread() { static_cast<void>(End()); }
  StateThread(const StateThread&) = delete;
  StateThread& operator=(const StateThread&) = delete;

  /// Has it change to `state` next. Never waits. A failure is an outcome of the pipeline.
  void Want(GstState state);

  /// Begins to end the pipeline: afterwards its listener hears nothing more. Waits for what the
  /// listener does, and for nothing else. Idempotent.
  void BeginEnd();
  /// Ends the pipeline. Returns whether it has ended within the limits, since BeginEnd(); if not it
  /// is abandoned. Idempotent.
  bool End();

 private:
  struct Work;

  static void Run(const std::shared_ptr<Work>& work);

  // Constant after construction.
  const EndLimits limits_;
  const std::shared_ptr<Work> work_;  ///< Shared with the thread, which may outlive this.

  // Of the owner's thread.
  std::optional<std::chrono::steady_clock::time_point> ending_since_;
  bool has_ended_ = false;
  std::thread thread_;  ///< None once End() was called.
};

}  // namespace millrace::ingest
