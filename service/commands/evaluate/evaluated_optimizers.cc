#include "service/commands/evaluate/evaluated_optimizers.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"

namespace millrace::service {
namespace {

/// The error of an entry of --optimizers, which names the entry.
absl::Status OfOptimizer(const std::string& text, const absl::Status& error) {
  return absl::Status(error.code(),
                      absl::StrCat("--optimizers ", text, ": ", std::string(error.message())));
}

/// "adam" or "adam:0.001", with the other options of `common`. Those of sgd alone are for sgd.
absl::StatusOr<pipeline::OptimizerOptions> OptimizerOf(const std::string& text,
                                                       pipeline::OptimizerOptions common) {
  const std::vector<std::string> parts = absl::StrSplit(text, absl::MaxSplits(':', 1));
  MILLRACE_ASSIGN_OR_RETURN(common.kind, pipeline::OptimizerKind(parts.front()));
  if (parts.size() > 1 && !absl::SimpleAtod(parts.back(), &common.learning_rate)) {
    return absl::InvalidArgumentError("a learning rate follows the colon, such as 0.001");
  }
  if (common.kind != pipeline::OptimizerOptions::Kind::kSgd) {
    common.momentum = 0;
    common.nesterov = common.spike_compensation = false;
  }
  MILLRACE_RETURN_IF_ERROR(pipeline::CheckOptimizer(common));
  return common;
}

}  // namespace

absl::StatusOr<std::vector<pipeline::FlowEvaluationOptions::NamedOptimizer>> EvaluatedOptimizers(
    const std::vector<std::string>& texts, const pipeline::OptimizerOptions& common) {
  std::vector<pipeline::FlowEvaluationOptions::NamedOptimizer> optimizers;
  if (texts.empty()) {
    MILLRACE_RETURN_IF_ERROR(pipeline::CheckOptimizer(common));
    return optimizers;
  }
  bool any_sgd = false;
  for (const std::string& text : texts) {
    const absl::StatusOr<pipeline::OptimizerOptions> one = OptimizerOf(text, common);
    if (!one.ok()) return OfOptimizer(text, one.status());
    if (std::ranges::count(texts, text) > 1) {
      return OfOptimizer(text, absl::InvalidArgumentError("it is there twice"));
    }
    any_sgd = any_sgd || one->kind == pipeline::OptimizerOptions::Kind::kSgd;
    optimizers.push_back({.name = text, .optimizer = *one});
  }
  if (any_sgd || (common.momentum == 0 && !common.nesterov && !common.spike_compensation)) {
    return optimizers;
  }
  return absl::InvalidArgumentError(
      "--momentum, --nesterov and --spike-compensation are for sgd, which --optimizers lacks");
}

}  // namespace millrace::service
