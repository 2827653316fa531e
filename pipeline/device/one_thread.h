// Limits LibTorch to one thread within an operation.
#pragma once

#include <ATen/Parallel.h>

namespace millrace::pipeline {

/// During its lifetime, the calling thread uses one thread within an operation. So neither results
/// nor times depend on the machine's number of cores.
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
