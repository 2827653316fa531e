// How much of this machine's memory a learner will take, reckoned before it is made.
//
//   the layers     a small picture goes through them one by one: what each keeps grows with the
//                  picture, and what its weights take does not
//   the schedule   how many versions of weights, and samples, each stage holds at once
//   the rest       gradients, the optimizer, copies to go back to, a second network to ask
//
// So a learner that does not fit is refused, and not the process ended by the system. Free of
// LibTorch.
#pragma once

#include "absl/status/statusor.h"
#include "pipeline/learner/flow_learner_options.h"
#include "pipeline/learner/label_learner_options.h"

namespace millrace::pipeline {

/// About how many bytes of this machine's memory MakeFlowLearner() and its learner take at their
/// peak: in fourteen learners that were measured, a sixth too few to a half too many. What is on
/// GPUs is not counted. Takes a tenth of a second or so, once for a network. A user's own network
/// is loaded, and asked with one sample of the size that it is for, which takes memory itself.
/// Fails as MakeFlowLearner() does for a bad network, and with CANCELLED once options.stop is
/// requested. Thread-safe.
[[nodiscard]] absl::StatusOr<double> MemoryNeedOf(const FlowLearnerOptions& options);

/// The same of MakeLabelStreamLearner(). A network that the options name is not built at all.
[[nodiscard]] absl::StatusOr<double> MemoryNeedOf(const LabelStreamOptions& options);

}  // namespace millrace::pipeline
