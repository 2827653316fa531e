// Decides for every sample whether the network learns from it. The decision is made once and
// travels with the sample, so stages never disagree.
//
//   admission ─▶ events in its pictures: repeated, frozen, a cut; the rate; a policy that reads
//                the pictures
//   prediction ─▶ the health of its flow; a policy that reads the flow ─▶ learned from, or the
//                 reason why not
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/mutex.h"
#include "pipeline/decisions/divergence_detector.h"
#include "pipeline/decisions/flow_motion.h"
#include "pipeline/decisions/picture_events.h"
#include "pipeline/decisions/skip_reason.h"
#include "pipeline/decisions/update_policy.h"

namespace millrace::pipeline {

struct LearningOptions {
  UpdatePolicyOptions policy = {};
  PictureEventOptions events = {};
  DivergenceOptions divergence = {};
};

/// A sample at admission.
struct AdmittedSample {
  std::int64_t number = 0;
  /// MeanDifference() of its two pictures, or of the newer two of three.
  double difference = 0;
  /// MeanDifference() of the older two of three.
  std::optional<double> difference_before = {};
  /// The rate allows to learn from every n-th sample; 0: from no sample.
  int learn_from_every = 1;
  /// Learning is frozen.
  bool held = false;
};

/// A predicted flow, scored before the model learned from it.
struct ScoredFlow {
  std::int64_t sample = 0;
  /// (dx, dy) for every pixel, in the layout of MotionOf().
  std::span<const float> flow = {};
  int width = 0;
  int height = 0;
  bool finite = true;
  double loss = 0;
  double loss_no_motion = 0;
};

/// The decisions of one stream. By default, OnAdmitted() is for the thread that admits samples, and
/// the rest for the thread that scores predictions. A sample is admitted before its decision.
class LearningDecisions {
 public:
  /// `detector` gets each prediction whose pictures say something about the weights. It must
  /// outlive this object. REQUIRES: CheckUpdatePolicy(options.policy) is OK.
  LearningDecisions(const LearningOptions& options, DivergenceDetector& detector);

  /// Changes the policy from the next admitted sample on, which is the new policy's first. The
  /// policy of the options counts from sample 0, so that a resumed stream does not warm up again.
  /// May be called on any thread. REQUIRES: CheckUpdatePolicy(policy) is OK.
  void SetPolicy(const UpdatePolicyOptions& policy) ABSL_LOCKS_EXCLUDED(mu_);

  /// Admits the next sample. At most a thousand samples may lie between the last admitted and the
  /// last decided one.
  void OnAdmitted(const AdmittedSample& sample);

  /// Decides whether to learn from a sample; kNone means yes.
  SkipReason Decide(const ScoredFlow& scored);

  /// Whether the network may still learn from `sample`, by the facts known at its admission. May be
  /// called on any thread, from its admission until a thousand samples later.
  [[nodiscard]] bool MayTeach(std::int64_t sample) const {
    const Noted& noted = Note(sample);
    return noted.event == SkipReason::kNone && noted.unwanted == SkipReason::kNone;
  }

 private:
  struct Noted {
    std::int64_t sample = -1;
    SkipReason event = SkipReason::kNone;       // From its pictures.
    SkipReason unwanted = SkipReason::kNone;    // kHeld, kRate or kPolicy.
    std::shared_ptr<UpdatePolicy> policy = {};  // Shared by all its samples.
  };

  void TakeNextPolicy(std::int64_t first_sample) ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] SkipReason EventOf(const AdmittedSample& sample);
  [[nodiscard]] SkipReason WhyUnwanted(const AdmittedSample& sample);
  [[nodiscard]] SkipReason WhyNot(const ScoredFlow& scored, const Noted& noted);
  [[nodiscard]] const Noted& Note(std::int64_t sample) const;

  PictureEvents events_;
  // For the next sample. Used by the thread that admits, unless it needs the motion.
  std::shared_ptr<UpdatePolicy> policy_;
  DivergenceDetector& detector_;
  std::vector<Noted> notes_;  // A ring. Each place belongs to one thread after the other.

  std::atomic<bool> policy_changes_ = false;
  Mutex mu_;
  UpdatePolicyOptions next_policy_ ABSL_GUARDED_BY(mu_) = {};  // The newest of SetPolicy().
};

}  // namespace millrace::pipeline
