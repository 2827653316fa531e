// Measures the memory that a piece of work leaves allocated.
#pragma once

#include <functional>

namespace millrace::pipeline {

/// The bytes of tensor memory that `work` allocates on this thread and does not free. For a
/// forward: its outputs and autograd's saved tensors. LibTorch prints a warning if `work` frees
/// older memory.
[[nodiscard]] double BytesLeftBy(const std::function<void()>& work);

}  // namespace millrace::pipeline
