// How long work takes a device that has nothing else to do.
//
// On the CPU it is the time that the calling thread computed, not the time that passed: beside
// other busy programs a thread waits for a core, which says nothing about the work. A GPU says so
// itself, by events in the stream of the thread that calls: how long its host takes to hand work
// over counts only as far as the GPU waits for it.
#pragma once

#include <chrono>
#include <vector>

#include <c10/core/Device.h>
#include <c10/core/Event.h>

#include "absl/functional/function_ref.h"
#include "base/mutex.h"

namespace millrace::pipeline {

/// Of `work`, in milliseconds. Waits until the device has done it. Where `work` spreads over
/// several threads of the CPU, it is the calling thread's share, and that thread waits for the
/// others asleep: as long as the shares are equal, that is what an idle machine takes.
[[nodiscard]] double MillisecondsOf(at::Device device, absl::FunctionRef<void()> work);

/// When a GPU was at work. Thread-safe.
class GpuTimes {
 public:
  using Time = std::chrono::steady_clock::time_point;
  struct Span {
    Time begin;
    Time end;
  };

  /// Waits for all that the current stream has been given.
  explicit GpuTimes(at::Device gpu);

  /// Does `work`, which puts something into the current stream of the same GPU.
  void Note(absl::FunctionRef<void()> work) ABSL_LOCKS_EXCLUDED(mu_);

  /// Since construction or the last call, in order: while any of the work that was noted was under
  /// way in any stream. Waits until all of it has been done.
  [[nodiscard]] std::vector<Span> Busy() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  struct Noted {
    c10::Event begin;
    c10::Event end;
  };

  const at::Device gpu_;
  c10::Event origin_;
  Time start_;
  mutable Mutex mu_;
  std::vector<Noted> noted_ ABSL_GUARDED_BY(mu_);
};

/// While any of `spans` was, in order.
[[nodiscard]] std::vector<GpuTimes::Span> Joined(std::vector<GpuTimes::Span> spans);

}  // namespace millrace::pipeline
