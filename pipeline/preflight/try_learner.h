// Checks whether a learner could start, before any measurement.
//
// A check of a configuration finds many problems in a second, without a camera. Examples: a network
// that does not fit its pictures, weights of another network, more stages than layers. The check
// reports all of them, each with the part of the options that must change. Free of LibTorch.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "pipeline/learner/flow_task_options.h"
#include "pipeline/learner/label_task_options.h"
#include "pipeline/learner/learner_options.h"

namespace millrace::pipeline {

/// The part of a learner's options that a problem is about.
enum class LearnerPart { kNetwork, kWeights, kStages, kCuts, kSchedule, kCheckpoints };

struct LearnerProblem {
  LearnerPart part = LearnerPart::kNetwork;
  absl::Status status;
};

/// The reasons for which MakeFlowLearner() would reject `options`. Ignores its devices
/// (ChooseDevices()) and checks that depend on measured costs. Opens the network, reads weights and
/// the newest checkpoint, and changes nothing on disk. Skips the parts that cannot be checked
/// because of a problem in another part.
[[nodiscard]] std::vector<LearnerProblem> TryFlowLearner(const LearnerOptions& options,
                                                         const FlowTaskOptions& task);

/// The same for MakeLabelLearner().
[[nodiscard]] std::vector<LearnerProblem> TryLabelLearner(const LearnerOptions& options,
                                                          const LabelTaskOptions& task);

}  // namespace millrace::pipeline
