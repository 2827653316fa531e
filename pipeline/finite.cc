#include "pipeline/finite.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <ATen/ops/linalg_vector_norm.h>

#include "pipeline/kernels/kernels.h"

namespace millrace::pipeline {

bool AllFinite(const at::Tensor& tensor) {
  if (tensor.numel() == 0 || !tensor.is_floating_point()) return true;
  if (tensor.scalar_type() == at::kFloat && tensor.device().is_cpu() &&
      tensor.is_non_overlapping_and_dense()) {
    return kernels::Best().all_finite(tensor.const_data_ptr<float>(), tensor.numel());
  }
  // The largest magnitude, unlike a sum, cannot overflow where every value is finite.
  const at::Tensor magnitude =
      at::linalg_vector_norm(tensor.detach(), std::numeric_limits<double>::infinity());
  return std::isfinite(magnitude.item<double>());
}

bool AllFinite(at::TensorList tensors) {
  return std::all_of(tensors.begin(), tensors.end(),
                     [](const at::Tensor& tensor) { return AllFinite(tensor); });
}

}  // namespace millrace::pipeline
