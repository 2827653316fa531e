// A planner's description of a learner that cannot keep its camera's rate.
#pragma once

#include "pipeline/learner/learner.h"

namespace millrace::service {

inline void PlannerSaid(pipeline::LearnerDescription& learner) {
  learner.update_every = 4;
  learner.rate_plan = {.frames_per_second = 10,
                       .holds = false,
                       .dropped_share = 0.25,
                       .limit = "layer 3 alone takes 62",
                       .switched = 1,
                       .kept = 2,
                       .why = "stage 1 takes 80 ms a sample instead of 65"};
}

}  // namespace millrace::service
