// Takes and restores the values of tensors.
#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace millrace::pipeline {

/// Copies of the tensors, on the CPU.
[[nodiscard]] std::vector<at::Tensor> CopiesOnHost(const std::vector<at::Tensor>& tensors);

/// Sets the tensors to these values, invisibly to autograd. Their devices and types may differ.
/// Throws std::runtime_error if a value does not fit its tensor's shape; the message calls the
/// tensor `name` and its number. REQUIRES: as many values as tensors; no thread uses the tensors.
void RestoreValues(const std::vector<at::Tensor>& values, const std::vector<at::Tensor>& tensors,
                   const std::string& name);

/// The values of some tensors at one time, on the tensors' devices. Not thread-safe.
class TensorSnapshot {
 public:
  TensorSnapshot() = default;
  explicit TensorSnapshot(const std::vector<at::Tensor>& tensors) { Take(tensors); }

  /// Saves these values instead. Allocates no memory if the shapes are the same as before.
  void Take(const std::vector<at::Tensor>& tensors);

  /// As RestoreValues(), into the same tensors or others of the same shapes.
  void Restore(const std::vector<at::Tensor>& tensors) const;
  /// The same, if `flag`, a scalar of bool on their device, is false.
  void RestoreUnless(const at::Tensor& flag, const std::vector<at::Tensor>& tensors) const;

 private:
  std::vector<at::Tensor> values_;
};

}  // namespace millrace::pipeline
