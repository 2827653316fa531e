// The queue of work for a device's thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "pipeline/engine/devices.h"

namespace millrace::pipeline {

/// First in, first out. One thread pushes and one thread takes, without a lock. Sequentially
/// consistent, as EventCount requires of its conditions.
class WorkQueue {
 public:
  /// REQUIRES: places > 0.
  explicit WorkQueue(std::size_t places) : places_(places) {}

  [[nodiscard]] bool empty() const { return pushed_ == taken_; }
  [[nodiscard]] bool full() const {
    return pushed_ - taken_ == static_cast<std::int64_t>(places_.size());
  }

  /// REQUIRES: not full.
  void Push(const Work& work) {
    At(pushed_) = work;
    ++pushed_;
  }

  /// REQUIRES: not empty.
  [[nodiscard]] Work Take() {
    Work work = At(taken_);
    ++taken_;
    return work;
  }

 private:
  [[nodiscard]] Work& At(std::int64_t number) {
    return places_[static_cast<std::size_t>(number) % places_.size()];
  }

  std::vector<Work> places_;
  // Each on its own cache line, because a different thread writes each.
  alignas(64) std::atomic<std::int64_t> pushed_ = 0;
  alignas(64) std::atomic<std::int64_t> taken_ = 0;
};

}  // namespace millrace::pipeline
