#include "pipeline/labels/label_learner.h"

#include <utility>

#include "base/exception_to_status.h"
#include "base/foreign_error.h"
#include "base/status.h"
#include "pipeline/labels/label_costs.h"
#include "pipeline/labels/staged_label_learner.h"

namespace millrace::pipeline {

absl::StatusOr<std::unique_ptr<Learner>> MakeLabelLearner(const LearnerOptions& options,
                                                          const LabelTaskOptions& task,
                                                          OnPrediction on_prediction,
                                                          const LearnerHooks& hooks) {
  return ExceptionToStatus(
      [&]() -> absl::StatusOr<std::unique_ptr<Learner>> {
        MILLRACE_ASSIGN_OR_RETURN(const NetworkProfile costs,
                                  MeasureLabelNetwork(options, task, {.stop = hooks.stop}));
        return StagedLabelLearner::MakeMeasured(options, task, std::move(on_prediction), hooks,
                                                costs);
      },
      InternalCause);
}

}  // namespace millrace::pipeline
