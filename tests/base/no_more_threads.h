// A system that has no thread left.
#pragma once

#include <pthread.h>

#include <cstddef>

#include "base/check.h"

namespace millrace {

/// While an object lives, this process can make no thread: a stack would be larger than every
/// address space. One object at a time.
class NoMoreThreads {
 public:
  NoMoreThreads() {
    MILLRACE_CHECK(pthread_getattr_default_np(&before_) == 0);
    pthread_attr_t without;
    MILLRACE_CHECK(pthread_getattr_default_np(&without) == 0);
    constexpr std::size_t kTooLarge = std::size_t{1} << 52;
    MILLRACE_CHECK(pthread_attr_setstacksize(&without, kTooLarge) == 0);
    MILLRACE_CHECK(pthread_setattr_default_np(&without) == 0);
    pthread_attr_destroy(&without);
  }
  ~NoMoreThreads() {
    pthread_setattr_default_np(&before_);
    pthread_attr_destroy(&before_);
  }

  NoMoreThreads(const NoMoreThreads&) = delete;
  NoMoreThreads& operator=(const NoMoreThreads&) = delete;

 private:
  pthread_attr_t before_;
};

}  // namespace millrace
