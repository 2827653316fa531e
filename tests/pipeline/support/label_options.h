// The options of a learner of labels in tests.
#pragma once

#include "pipeline/learner/label_task_options.h"
#include "pipeline/learner/learner_options.h"

namespace millrace::pipeline {

struct LabelOptions {
  LearnerOptions learner = {.schedule = "sequential", .stages = 1};
  LabelTaskOptions task = {};
};

}  // namespace millrace::pipeline
