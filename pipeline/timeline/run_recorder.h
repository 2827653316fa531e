// Notes when each operation of a run started and ended, for pictures and traces.
//
// What was planned can then be laid beside what happened: both are TimelineEvents, drawn by the
// same code.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "pipeline/engine/engine.h"
#include "pipeline/plan/plan.h"
#include "pipeline/timeline/timeline_event.h"

namespace millrace::pipeline {

/// The first operations of each device, at most so many. Noting one neither locks nor allocates:
/// every device writes to memory of its own, which is there before it runs.
///
/// Recorded operations may run on one thread a device, as in an engine. Begin(), events() and
/// left_out() are for while nothing runs. Must outlive the run that it records.
class RunRecorder {
 public:
  /// REQUIRES: most_operations > 0. `clock` outlives the recorder.
  explicit RunRecorder(std::size_t most_operations, const Clock& clock = MonotonicClock());

  RunRecorder(const RunRecorder&) = delete;
  RunRecorder& operator=(const RunRecorder&) = delete;

  /// What runs from now on is `plan`, whose sample 0 is sample `first_sample` of the stream.
  void Begin(const Plan& plan, std::int64_t first_sample);

  /// Does the same as `run`, recorded. REQUIRES: Begin() was called before it is.
  [[nodiscard]] RunStep Recording(RunStep run);

  /// By device, then in the order in which they ran; samples are numbered as in the stream. In
  /// milliseconds since the first operation of all.
  [[nodiscard]] std::vector<TimelineEvent> events() const;

  /// Operations of all devices that ran after memory for them was used up.
  [[nodiscard]] std::int64_t left_out() const;

 private:
  struct Entry {
    Step step;
    nanoseconds start;
    nanoseconds end;
  };
  // Of one device. On cache lines of its own: its neighbours are written by other threads.
  struct alignas(64) Track {
    std::vector<Entry> entries;  // As many as there may be, written up to `used`.
    std::size_t used = 0;
    std::int64_t left_out = 0;
  };

  void Note(Step step, nanoseconds start, nanoseconds end);

  // Constant after construction.
  const std::size_t most_operations_;
  const Clock& clock_;

  // Of the plan at work; constant while it runs.
  std::int64_t samples_per_pattern_ = 1;
  std::int64_t first_sample_ = 0;
  // By kind, stage and sample of the pattern.
  std::array<std::vector<std::vector<std::size_t>>, kOperationKinds> device_of_;

  // By device; each is for its device's thread.
  std::vector<Track> tracks_;
};

}  // namespace millrace::pipeline
