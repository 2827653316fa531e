// One thread for what LibTorch does within an operation.
#pragma once

#include <ATen/Parallel.h>

namespace millrace::pipeline {

/// Holds the calling thread to one thread inside an operation as long as it lives, so that neither
/// numbers nor times depend on how many the machine has.
class OneThread {
 public:
  OneThread() : before_(at::get_num_threads()) { at::set_num_threads(1); }
  ~OneThread() { at::set_num_threads(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  const int before_;
};

}  // namespace millrace::pipeline
