// Whether a learner could start, before any time is spent on measuring it.
//
// A network that does not fit its pictures, weights of another network, more stages than layers:
// all of that is known in a second, without a camera. Whoever checks a configuration wants all of
// it, by the part of the options that must change. Free of LibTorch.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "pipeline/learner/flow_learner_options.h"
#include "pipeline/learner/label_learner_options.h"

namespace millrace::pipeline {

/// The part of a learner's options that a problem is about.
enum class LearnerPart { kNetwork, kWeights, kStages, kCuts, kSchedule, kCheckpoints };

struct LearnerProblem {
  LearnerPart part = LearnerPart::kNetwork;
  absl::Status status;
};

/// What MakeFlowLearner() would refuse of `options`, but for its devices (ChooseDevices()) and what
/// depends on measured costs. Opens the network, reads weights and the newest checkpoint, and
/// changes nothing on disk. Parts that cannot be judged because of a problem of another part are
/// passed over.
[[nodiscard]] std::vector<LearnerProblem> TryFlowLearner(const FlowLearnerOptions& options);

/// The same of MakeLabelStreamLearner().
[[nodiscard]] std::vector<LearnerProblem> TryLabelStreamLearner(const LabelStreamOptions& options);

}  // namespace millrace::pipeline
