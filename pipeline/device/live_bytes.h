// How much memory a piece of work leaves behind.
#pragma once

#include <functional>

namespace millrace::pipeline {

/// The bytes of tensors' memory that `work` allocates on this thread and does not free. Of a
/// forward: what it makes and what autograd stored on the way. LibTorch prints a warning if it
/// frees memory that was there before.
[[nodiscard]] double BytesLeftBy(const std::function<void()>& work);

}  // namespace millrace::pipeline
