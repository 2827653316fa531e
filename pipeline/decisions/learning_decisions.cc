#include "pipeline/decisions/learning_decisions.h"

#include <utility>

#include "base/check.h"

namespace millrace::pipeline {
namespace {

constexpr std::size_t kNotes = 1024;

}  // namespace

LearningDecisions::LearningDecisions(const LearningOptions& options, DivergenceDetector& detector)
    : events_(options.events),
      policy_(std::make_shared<UpdatePolicy>(options.policy, /*first_sample=*/0)),
      detector_(detector),
      notes_(kNotes) {}

void LearningDecisions::OnAdmitted(const AdmittedSample& sample) {
  if (policy_changes_) TakeNextPolicy(sample.number);
  Noted noted{.sample = sample.number, .event = EventOf(sample), .policy = policy_};
  if (noted.event == SkipReason::kNone) noted.unwanted = WhyUnwanted(sample);
  notes_[sample.number % kNotes] = std::move(noted);
}

void LearningDecisions::SetPolicy(const UpdatePolicyOptions& policy) {
  const MutexLock lock(mu_);
  next_policy_ = policy;
  policy_changes_ = true;
}

void LearningDecisions::TakeNextPolicy(std::int64_t first_sample) {
  const MutexLock lock(mu_);
  policy_ = std::make_shared<UpdatePolicy>(next_policy_, first_sample);
  policy_changes_ = false;
}

SkipReason LearningDecisions::EventOf(const AdmittedSample& sample) {
  const SkipReason before =
      sample.difference_before ? events_.Like(*sample.difference_before) : SkipReason::kNone;
  const SkipReason event = events_.Next(sample.difference);
  return event != SkipReason::kNone ? event : before;
}

SkipReason LearningDecisions::WhyUnwanted(const AdmittedSample& sample) {
  if (sample.held) return SkipReason::kHeld;
  const int every = sample.learn_from_every;
  if (every == 0 || sample.number % every != 0) return SkipReason::kRate;
  if (policy_->needs_motion()) return SkipReason::kNone;
  return policy_->Learns({.sample = sample.number, .difference = sample.difference})
             ? SkipReason::kNone
             : SkipReason::kPolicy;
}

SkipReason LearningDecisions::Decide(const ScoredFlow& scored) {
  return WhyNot(scored, Note(scored.sample));
}

// Still pictures and cuts say nothing about the weights, so they do not reach `detector_`.
SkipReason LearningDecisions::WhyNot(const ScoredFlow& scored, const Noted& noted) {
  if (noted.event != SkipReason::kNone) return noted.event;
  const FlowMotion motion =
      MotionOf(scored.flow, scored.width, scored.height, noted.policy->options().moving_pixels);
  const SkipReason refused = detector_.Add({.sample = scored.sample,
                                            .finite = scored.finite,
                                            .leaving_share = motion.leaving_share,
                                            .motion = motion.length / scored.width,
                                            .loss = scored.loss,
                                            .loss_no_motion = scored.loss_no_motion});
  if (refused != SkipReason::kNone) return refused;
  if (noted.unwanted != SkipReason::kNone || !noted.policy->needs_motion()) return noted.unwanted;
  return noted.policy->Learns({.sample = scored.sample, .motion = motion}) ? SkipReason::kNone
                                                                           : SkipReason::kPolicy;
}

const LearningDecisions::Noted& LearningDecisions::Note(std::int64_t sample) const {
  const Noted& noted = notes_[sample % kNotes];
  MILLRACE_CHECK(noted.sample == sample);
  return noted;
}

}  // namespace millrace::pipeline
