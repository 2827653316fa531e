#include "pipeline/optim/update_cosine.h"

#include <cmath>
#include <cstddef>
#include <utility>

#include <ATen/ops/_foreach_copy.h>
#include <ATen/ops/_foreach_sub.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/zeros_like.h>

namespace millrace::pipeline {
namespace {

// Tensors of the same layout.
double Dot(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += a[i].to(at::kDouble).mul(b[i]).sum().item<double>();
  }
  return sum;
}

}  // namespace

UpdateCosine::UpdateCosine(std::vector<at::Tensor> values) : values_(std::move(values)) {
  for (const at::Tensor& value : values_) {
    before_.push_back(at::zeros_like(value));
    last_.push_back(at::zeros_like(value));
  }
}

void UpdateCosine::BeforeUpdate() { at::_foreach_copy_(before_, values_); }

void UpdateCosine::AfterUpdate() {
  at::_foreach_sub_(before_, values_);
  const double square = Dot(before_, before_);
  if (square > 0 && last_square_ > 0) {  // Finite: no square of a float is too large for a double.
    sum_ += Dot(before_, last_) / std::sqrt(square * last_square_);
    ++count_;
  }
  std::swap(before_, last_);
  last_square_ = square;
}

std::optional<double> UpdateCosine::mean() const {
  if (count_ == 0) return std::nullopt;
  return sum_ / static_cast<double>(count_);
}

}  // namespace millrace::pipeline
