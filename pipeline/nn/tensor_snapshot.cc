#include "pipeline/nn/tensor_snapshot.h"

#include <stdexcept>

#include <ATen/ExpandUtils.h>
#include <ATen/ops/clone.h>
#include <ATen/ops/where.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"

namespace millrace::pipeline {
namespace {

constexpr char kTensor[] = "tensor";

void CheckFits(const std::vector<at::Tensor>& values, const std::vector<at::Tensor>& tensors,
               const std::string& name) {
  MILLRACE_CHECK(values.size() == tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (at::is_expandable_to(values[i].sizes(), tensors[i].sizes())) continue;
    throw std::runtime_error(absl::StrCat("cannot restore ", name, " ", i, ": its shape is [",
                                          absl::StrJoin(tensors[i].sizes(), ", "), "], and was [",
                                          absl::StrJoin(values[i].sizes(), ", "), "]"));
  }
}

}  // namespace

std::vector<at::Tensor> CopiesOnHost(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> copies;
  copies.reserve(tensors.size());
  for (const at::Tensor& tensor : tensors) {
    copies.push_back(tensor.detach().to(at::kCPU, /*non_blocking=*/false, /*copy=*/true));
  }
  return copies;
}

void RestoreValues(const std::vector<at::Tensor>& values, const std::vector<at::Tensor>& tensors,
                   const std::string& name) {
  CheckFits(values, tensors, name);
  // Through variable_data(): autograd refuses to write to a leaf.
  for (std::size_t i = 0; i < tensors.size(); ++i) tensors[i].variable_data().copy_(values[i]);
}

void TensorSnapshot::Take(const std::vector<at::Tensor>& tensors) {
  values_.resize(tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const at::Tensor from = tensors[i].detach();
    if (values_[i].defined() && values_[i].sizes() == from.sizes()) {
      values_[i].copy_(from);
    } else {
      values_[i] = from.clone();
    }
  }
}

void TensorSnapshot::Restore(const std::vector<at::Tensor>& tensors) const {
  RestoreValues(values_, tensors, kTensor);
}

void TensorSnapshot::RestoreUnless(const at::Tensor& flag,
                                   const std::vector<at::Tensor>& tensors) const {
  CheckFits(values_, tensors, kTensor);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const at::Tensor now = tensors[i].variable_data();
    now.copy_(at::where(flag, now, values_[i]));
  }
}

}  // namespace millrace::pipeline
