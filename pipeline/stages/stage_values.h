// Lets other threads read a stage's parameters and buffers while the stage runs.
#pragma once

#include <mutex>
#include <optional>

#include <c10/core/Stream.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "pipeline/engine/fair_mutex.h"

namespace millrace::pipeline {

/// The lock of one stage's values. A reader waits at most for the operation in progress.
class StageValues {
 public:
  /// Held while an operation of the stage, in the current stream of its thread, changes the values
  /// or puts older ones in their place.
  class Moving {
   public:
    Moving(StageValues& values, c10::Device device) : lock_(values.lock_) {
      if (device.is_cpu()) return;
      values.stream_ = c10::impl::VirtualGuardImpl(device.type()).getStream(device);
    }

   private:
    const std::lock_guard<FairMutex> lock_;
  };

  /// While it is held, the values are the newest ones and do not change. On a GPU, the calling
  /// thread works in the stage's stream.
  class Still {
   public:
    explicit Still(StageValues& values) : lock_(values.lock_) {
      if (values.stream_) in_stream_.emplace(*values.stream_);
    }

   private:
    const std::lock_guard<FairMutex> lock_;
    std::optional<c10::StreamGuard> in_stream_;
  };

 private:
  FairMutex lock_;
  std::optional<c10::Stream> stream_;  // On a GPU: the stream of the stage's operations.
};

}  // namespace millrace::pipeline
