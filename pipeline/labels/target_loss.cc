#include "pipeline/labels/target_loss.h"

#include <vector>

#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/l1_loss.h>
#include <ATen/ops/mse_loss.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace millrace::pipeline {
namespace {

std::string Shape(at::IntArrayRef sizes) {
  return absl::StrCat("[", absl::StrJoin(sizes, ", "), "]");
}

std::vector<std::int64_t> OfOneSample(const at::Tensor& all) {
  std::vector<std::int64_t> sizes = all.sizes().vec();
  sizes[0] = 1;
  return sizes;
}

}  // namespace

absl::StatusOr<TargetLoss> TargetLoss::Named(std::string_view name) {
  if (name == "mse") return TargetLoss(Kind::kMse);
  if (name == "l1") return TargetLoss(Kind::kL1);
  if (name == "cross_entropy") return TargetLoss(Kind::kCrossEntropy);
  return absl::InvalidArgumentError(absl::StrCat("there is no loss \"", std::string(name),
                                                 "\"; use one of: mse, l1, cross_entropy"));
}

absl::Status TargetLoss::CheckFits(const at::Tensor& output, const at::Tensor& targets,
                                   const std::string& what) const {
  if (kind_ != Kind::kCrossEntropy) {
    if (output.sizes() == OfOneSample(targets) && targets.is_floating_point()) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(
        absl::StrCat(what, " makes ", Shape(output.sizes()), " of a sample, and its target is ",
                     Shape(OfOneSample(targets)), targets.is_floating_point() ? "" : " of integers",
                     "; this loss needs numbers of floating point of the same shape"));
  }
  if (output.dim() != 2 || targets.dim() != 1 || targets.scalar_type() != at::kLong) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " makes ", Shape(output.sizes()), " of a sample, and `targets` is ",
                     Shape(targets.sizes()), " of ", at::toString(targets.scalar_type()),
                     "; cross_entropy needs logits [1, classes] and one int64 class a sample"));
  }
  if (targets.min().item<std::int64_t>() < 0 ||
      targets.max().item<std::int64_t>() >= output.size(1)) {
    return absl::InvalidArgumentError(absl::StrCat(
        what, " makes logits of ", output.size(1), " classes, and `targets` has classes ",
        targets.min().item<std::int64_t>(), " to ", targets.max().item<std::int64_t>(),
        "; they must be 0 to ", output.size(1) - 1));
  }
  return absl::OkStatus();
}

at::Tensor TargetLoss::operator()(const at::Tensor& output, const at::Tensor& target) const {
  switch (kind_) {
    case Kind::kMse:
      return at::mse_loss(output, target.to(output.scalar_type()));
    case Kind::kL1:
      return at::l1_loss(output, target.to(output.scalar_type()));
    case Kind::kCrossEntropy:
      break;
  }
  return at::cross_entropy_loss(output, target);
}

}  // namespace millrace::pipeline
