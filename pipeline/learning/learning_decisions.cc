#include "pipeline/learning/learning_decisions.h"

#include "base/check.h"

namespace millrace::pipeline {
namespace {

constexpr std::size_t kNotes = 1024;

}  // namespace

LearningDecisions::LearningDecisions(const LearningOptions& options, WeightHealth& health)
    : events_(options.events), policy_(options.policy), health_(health), notes_(kNotes) {}

void LearningDecisions::OnAdmitted(std::int64_t sample, double difference,
                                   std::optional<double> difference_before) {
  const SkipReason before =
      difference_before ? events_.Like(*difference_before) : SkipReason::kNone;
  const SkipReason event = events_.Next(difference);
  notes_[sample % kNotes] = {.sample = sample,
                             .difference = difference,
                             .event = event != SkipReason::kNone ? event : before};
}

SkipReason LearningDecisions::Decide(const ScoredFlow& scored, int learn_from_every) {
  Noted& noted = notes_[scored.sample % kNotes];
  MILLRACE_CHECK(noted.sample == scored.sample);
  noted.decision = WhyNot(scored, noted, learn_from_every);
  return noted.decision;
}

// Still pictures and cuts say nothing of the weights, so their health is not asked.
SkipReason LearningDecisions::WhyNot(const ScoredFlow& scored, const Noted& noted,
                                     int learn_from_every) {
  if (noted.event != SkipReason::kNone) return noted.event;
  const FlowMotion motion =
      MotionOf(scored.flow, scored.width, scored.height, policy_.options().moving_pixels);
  const SkipReason refused = health_.Next({.sample = scored.sample,
                                           .finite = scored.finite,
                                           .leaving_share = motion.leaving_share,
                                           .motion = motion.length / scored.width,
                                           .loss = scored.loss,
                                           .loss_no_motion = scored.loss_no_motion});
  if (refused != SkipReason::kNone) return refused;
  if (!HasTime(scored.sample, learn_from_every)) return SkipReason::kRate;
  const bool learns =
      policy_.Learns({.sample = scored.sample, .difference = noted.difference, .motion = motion});
  return learns ? SkipReason::kNone : SkipReason::kPolicy;
}

const LearningDecisions::Noted& LearningDecisions::Note(std::int64_t sample) const {
  const Noted& noted = notes_[sample % kNotes];
  MILLRACE_CHECK(noted.sample == sample);
  return noted;
}

}  // namespace millrace::pipeline
