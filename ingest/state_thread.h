// Has a pipeline change its state on a thread of its own, because that may hang for ever.
//
//   owner            Want(PAUSED)   Want(PLAYING)            End() ── waits for the limit at most
//                        │              │                      │
//   thread "pipeline"    └▶ PAUSED ─────┴▶ PLAYING ─ ... ──────┴▶ NULL ─▶ ended
//
// A pipeline that is told to end goes to NULL in good order first, so that an RTSP camera hears a
// TEARDOWN. If that takes long its connections are cut, which ends most of what waits for a camera.
// If it hangs even then it is abandoned (abandoned_pipelines.h): its elements are the thread's from
// then on, and the thread is detached. That is the one exception from the rule that no thread is
// (docs/decisions/0026-pipelines-that-hang.md).
#pragma once

#include <gst/gst.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>

namespace millrace::ingest {

class PipelineElements;

/// Calls must come from one thread at a time.
class StateThread {
 public:
  struct Limits {
    /// After so long its connections are cut.
    std::chrono::milliseconds in_good_order{500};
    /// After so long in all it is abandoned.
    std::chrono::milliseconds in_all{2000};
  };

  /// Its thread begins, at the priority of the caller. `owner`: as Abandon() has it.
  StateThread(std::shared_ptr<PipelineElements> elements, std::string owner, const Limits& limits);
  /// Ends it.
  ~StateThread() { static_cast<void>(End()); }
  StateThread(const StateThread&) = delete;
  StateThread& operator=(const StateThread&) = delete;

  /// Has it change to `state` next. Never waits. A failure is an outcome of the pipeline.
  void Want(GstState state);

  /// Ends the pipeline: afterwards its listener hears nothing more. Returns whether it has ended
  /// within the limits; if not it is abandoned. Idempotent.
  bool End();

 private:
  struct Work;

  static void Run(const std::shared_ptr<Work>& work);
  void LeaveBehind();

  // Constant after construction.
  const Limits limits_;
  const std::shared_ptr<Work> work_;  ///< Shared with the thread, which may outlive this.

  bool has_ended_ = false;  ///< Of the owner's thread.
  std::thread thread_;      ///< None once End() was called.
};

}  // namespace millrace::ingest
