// Describes a learner's stages and plan in words, for the banner and the log.
#pragma once

#include <cstdint>
#include <string>

#include "pipeline/learner/learner_description.h"

namespace millrace::service {

/// "one_f_one_b_star, 2 stages on 2 threads (cpu:0 cpu:1), cut at layer 8: 66 + 64 ms".
[[nodiscard]] std::string DescribePlan(const pipeline::LearnerDescription& learner);

/// The number of new plans so far.
[[nodiscard]] std::int64_t TimesReplanned(const pipeline::LearnerDescription& learner);

/// "planned again, as a backward of stage 1 takes 92.1 ms instead of 60.3: auto: one_f_one_b_star,
/// 1 stage on ... -> auto: ..., 10.0 frames a second". Without a switch, "keeps auto: ..." instead.
/// REQUIRES: both have a rate_plan.
[[nodiscard]] std::string DescribeReplan(const pipeline::LearnerDescription& before,
                                         const pipeline::LearnerDescription& after);

/// Whether a new plan changed the schedule, the amount of learning, or whether the rate holds. On a
/// busy machine, plans are renewed often without such a change. REQUIRES: both have a rate_plan.
[[nodiscard]] bool ReplanIsNews(const pipeline::LearnerDescription& before,
                                const pipeline::LearnerDescription& after);

/// ", learning from one frame in 4" or ", only predicting"; empty if it learns from every frame.
[[nodiscard]] std::string DescribeEffort(const pipeline::LearnerDescription& learner);

/// ", 12 % of the frames dropped"; empty without a rate plan or if the planned rate holds.
[[nodiscard]] std::string DescribeDrops(const pipeline::LearnerDescription& learner);

}  // namespace millrace::service
