// How a learner is cut and planned, in words: for the banner and the log.
#pragma once

#include <cstdint>
#include <string>

#include "pipeline/learner/learner_description.h"

namespace millrace::service {

/// "one_f_one_b_star, 2 stages on 2 threads (cpu:0 cpu:1), cut at layer 8: 66 + 64 ms".
[[nodiscard]] std::string DescribePlan(const pipeline::LearnerDescription& learner);

/// How often it has been planned again.
[[nodiscard]] std::int64_t TimesReplanned(const pipeline::LearnerDescription& learner);

/// "planned again, as a backward of stage 1 takes 92.1 ms instead of 60.3: auto: one_f_one_b_star,
/// 1 stage on ... -> auto: ..., 10.0 frames a second"; "keeps auto: ..." where it did not switch.
/// REQUIRES: it was planned for a rate.
[[nodiscard]] std::string DescribeReplan(const pipeline::LearnerDescription& before,
                                         const pipeline::LearnerDescription& after);

/// Whether planning again changed what is done: the plan, how much is learned, or whether the rate
/// holds. A busy machine is planned for again and again, without a change. REQUIRES: as above.
[[nodiscard]] bool ReplanIsNews(const pipeline::LearnerDescription& before,
                                const pipeline::LearnerDescription& after);

/// ", learning from one frame in 4"; nothing where it learns from every one.
[[nodiscard]] std::string DescribeEffort(const pipeline::LearnerDescription& learner);

/// ", 12 % of the frames dropped"; nothing where the rate holds that it was planned for.
[[nodiscard]] std::string DescribeDrops(const pipeline::LearnerDescription& learner);

}  // namespace millrace::service
