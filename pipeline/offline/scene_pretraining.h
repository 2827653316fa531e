// Teaches a network the true motion of scenes made of photographs.
#pragma once

#include <stop_token>

#include "absl/status/statusor.h"
#include "pipeline/offline/pretrain.h"

namespace millrace::pipeline {

/// As Pretrain(), from PhotoScenes. Each step learns from four pairs, by Adam. The objective is the
/// mean of (end-point error + 0.01)^0.5: small errors count, and single large ones do not rule.
/// The next pairs are made on a second thread. REQUIRES: options.photographs is not empty; the
/// other options have been checked.
[[nodiscard]] absl::StatusOr<PretrainSummary> PretrainOnScenes(
    const PretrainOptions& options, const OnPretrainProgress& on_progress,
    const std::stop_token& stop);

}  // namespace millrace::pipeline
