// Records the start and end of each operation of a run, for pictures and traces.
//
// Plans and runs are both TimelineEvents, and the same code draws them. So they can be compared.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "pipeline/engine/engine.h"
#include "pipeline/plan/plan.h"
#include "pipeline/timeline/timeline_event.h"

namespace millrace::pipeline {

/// The first `max_operations` operations of each device. Recording takes no lock and allocates
/// nothing: each device writes to its own memory, which is allocated before it runs.
///
/// One thread for each device may run recorded operations, as in an engine. Call Begin(), events()
/// and left_out() only while nothing runs. Must outlive the recorded run.
class OperationRecorder {
 public:
  /// REQUIRES: max_operations > 0. `clock` outlives the recorder.
  explicit OperationRecorder(std::size_t max_operations, const Clock& clock = MonotonicClock());

  OperationRecorder(const OperationRecorder&) = delete;
  OperationRecorder& operator=(const OperationRecorder&) = delete;

  /// The run continues with `plan`, whose sample 0 is sample `first_sample` of the stream.
  void Begin(const Plan& plan, std::int64_t first_sample);

  /// Returns a function that calls `run` and records it. REQUIRES: Begin() is called before that
  /// function.
  [[nodiscard]] RunStep Recording(RunStep run);

  /// The operations by device, in the order of execution, with the stream's sample numbers. Times
  /// are milliseconds since the very first operation.
  [[nodiscard]] std::vector<TimelineEvent> events() const;

  /// Operations of all devices that were not recorded, because memory was used up.
  [[nodiscard]] std::int64_t left_out() const;

 private:
  struct Entry {
    Step step;
    nanoseconds start;
    nanoseconds end;
  };
  // The entries of one device. On its own cache line, because other threads write the neighbours.
  struct alignas(64) Track {
    std::vector<Entry> entries;  // Of full length from the start, written up to `used`.
    std::size_t used = 0;
    std::int64_t left_out = 0;
  };

  void Note(Step step, nanoseconds start, nanoseconds end);

  // Constant after construction.
  const std::size_t max_operations_;
  const Clock& clock_;

  // For the running plan; constant while it runs.
  std::int64_t samples_per_pattern_ = 1;
  std::int64_t first_sample_ = 0;
  // By kind, stage and sample of the pattern.
  std::array<std::vector<std::vector<std::size_t>>, kOperationKinds> device_of_;

  // By device. Each track is for its device's thread.
  std::vector<Track> tracks_;
};

}  // namespace millrace::pipeline
