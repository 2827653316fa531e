// Measures the time that work takes on a device with no other work.
//
// On the CPU this is the CPU time of the calling thread. The elapsed time would include waits for a
// core beside other busy programs, and these are not work. On a GPU, events in the calling
// thread's stream measure it. The host's time for enqueueing counts only while the GPU
// waits.
#pragma once

#include <chrono>
#include <vector>

#include <c10/core/Device.h>
#include <c10/core/Event.h>

#include "absl/functional/function_ref.h"
#include "base/mutex.h"

namespace millrace::pipeline {

/// The time of `work` in milliseconds. Waits until the device has done it. If `work` uses several
/// CPU threads, this is the calling thread's share; it sleeps while it waits for the others. If the
/// shares are equal, the result is the time on an idle machine.
[[nodiscard]] double MillisecondsOf(at::Device device, absl::FunctionRef<void()> work);

/// Records when a GPU was busy. Thread-safe.
class GpuTimes {
 public:
  using Time = std::chrono::steady_clock::time_point;
  struct Span {
    Time begin;
    Time end;
  };

  /// Waits until the current stream is empty.
  explicit GpuTimes(at::Device gpu);

  /// Runs `work`, which enqueues into the current stream of the same GPU, and records its time.
  void Note(absl::FunctionRef<void()> work) ABSL_LOCKS_EXCLUDED(mu_);

  /// The times, in order, in which recorded work was running in any stream, since construction or
  /// the last call. Waits until all of it is done.
  [[nodiscard]] std::vector<Span> Busy() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  struct EventPair {
    c10::Event begin;
    c10::Event end;
  };

  const at::Device gpu_;
  c10::Event origin_;
  Time start_;
  mutable Mutex mu_;
  std::vector<EventPair> events_ ABSL_GUARDED_BY(mu_);
};

/// The union of `spans`, in order.
[[nodiscard]] std::vector<GpuTimes::Span> JoinSpans(std::vector<GpuTimes::Span> spans);

}  // namespace millrace::pipeline
