// Named tensors: the content of files.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

namespace millrace::pipeline {

/// Tensors by name, in an order.
using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

/// The tensor called `name`, undefined if no tensor has this name.
[[nodiscard]] inline at::Tensor FindTensor(const NamedTensors& tensors, const std::string& name) {
  const auto found = std::find_if(tensors.begin(), tensors.end(),
                                  [&](const auto& named) { return named.first == name; });
  return found == tensors.end() ? at::Tensor() : found->second;
}

}  // namespace millrace::pipeline
