// A lock for a stage's parameters and buffers, which other threads read while the stage runs. It
// has one guard for updates and one for reads.
#pragma once

#include <mutex>
#include <optional>

#include <c10/core/Stream.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "pipeline/engine/fair_mutex.h"

namespace millrace::pipeline {

/// The lock of one stage. Each guard excludes all others, readers too. A reader waits at most for
/// the operation in progress.
class StageParameterLock {
 public:
  /// Held while an operation of the stage changes the parameters and buffers, or puts an older
  /// version in their place. The operation runs in the current stream of its thread.
  class Update {
   public:
    Update(StageParameterLock& lock, c10::Device device) : guard_(lock.mu_) {
      if (device.is_cpu()) return;
      lock.stream_ = c10::impl::VirtualGuardImpl(device.type()).getStream(device);
    }

   private:
    const std::lock_guard<FairMutex> guard_;
  };

  /// While it is held, parameters and buffers are the newest ones and do not change. On a GPU, the
  /// calling thread works in the stage's stream.
  class Read {
   public:
    explicit Read(StageParameterLock& lock) : guard_(lock.mu_) {
      if (lock.stream_) in_stream_.emplace(*lock.stream_);
    }

   private:
    const std::lock_guard<FairMutex> guard_;
    std::optional<c10::StreamGuard> in_stream_;
  };

 private:
  FairMutex mu_;
  std::optional<c10::Stream> stream_;  // On a GPU: the stream of the stage's operations.
};

}  // namespace millrace::pipeline
