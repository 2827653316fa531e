// Whether numbers are numbers: what may never reach the weights, a checkpoint or a client.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

namespace millrace::pipeline {

/// Whether no value of `tensor` is NaN or infinite.
[[nodiscard]] bool AllFinite(const at::Tensor& tensor);

/// The same of every one of them.
[[nodiscard]] bool AllFinite(const std::vector<at::Tensor>& tensors);

}  // namespace millrace::pipeline
