// Estimates the memory of this machine that a learner will need, before it is made.
//
//   the layers     a small picture runs through them one by one. The data that each keeps grows
//                  with the picture; its weights do not.
//   the schedule   the versions of weights, and the samples, that each stage holds at once
//   the rest       gradients, the optimizer, copies for roll-backs, a second network for Predict()
//
// So a learner that does not fit is rejected, and the system does not kill the process. Free of
// LibTorch.
#pragma once

#include <stop_token>

#include "absl/status/statusor.h"
#include "pipeline/learner/flow_task_options.h"
#include "pipeline/learner/label_task_options.h"
#include "pipeline/learner/learner_options.h"

namespace millrace::pipeline {

/// The approximate peak memory of MakeFlowLearner() and its learner, in bytes of this machine's
/// memory. In fourteen measured learners, the estimate was between a sixth too low and a half too
/// high. GPU memory is not counted. Takes about a tenth of a second, once for each network. A
/// user's own network is loaded and run on one sample of its own size, which takes memory itself.
/// Fails as MakeFlowLearner() does for a bad network, and with CANCELLED once `stop` is
/// requested. Thread-safe.
[[nodiscard]] absl::StatusOr<double> MemoryNeedOf(const LearnerOptions& options,
                                                  const FlowTaskOptions& task,
                                                  const std::stop_token& stop = {});

/// The same for MakeLabelLearner(). A network named in the options is not built.
[[nodiscard]] absl::StatusOr<double> MemoryNeedOf(const LearnerOptions& options,
                                                  const LabelTaskOptions& task,
                                                  const std::stop_token& stop = {});

}  // namespace millrace::pipeline
