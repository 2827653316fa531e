// A plan that runs, with the rings of its channels.
#pragma once

#include <cstdint>
#include <utility>

#include "pipeline/plan/dependencies.h"
#include "pipeline/plan/plan.h"
#include "pipeline/plan/versions_read.h"
#include "pipeline/stages/channel_rings.h"
#include "pipeline/stages/rate_scales.h"

namespace millrace::pipeline {

/// The data that the stages of a running plan share. Constant, except the contents of
/// channels and scales.
struct RunningPlan {
  RunningPlan(Plan p, std::int64_t first)
      : plan(std::move(p)),
        reads(plan),
        dependencies(plan),
        channels(plan),
        rate_scales(plan),
        first_sample(first) {}

  const Plan plan;
  const VersionsRead reads;
  const Dependencies dependencies;
  Channels channels;
  RateScales rate_scales;
  /// The stream's number of the plan's sample 0.
  const std::int64_t first_sample;
};

}  // namespace millrace::pipeline
