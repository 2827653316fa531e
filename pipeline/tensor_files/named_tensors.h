// Tensors with names: what goes into files and comes out of them.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

namespace millrace::pipeline {

/// Tensors by name, in an order.
using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

/// The tensor called `name`, undefined if there is none.
[[nodiscard]] inline at::Tensor FindTensor(const NamedTensors& tensors, const std::string& name) {
  const auto found = std::find_if(tensors.begin(), tensors.end(),
                                  [&](const auto& named) { return named.first == name; });
  return found == tensors.end() ? at::Tensor() : found->second;
}

}  // namespace millrace::pipeline
