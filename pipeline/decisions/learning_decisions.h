// Decides for every sample whether the network learns from it, once, so that stages never disagree:
// what is decided travels with the sample.
//
//   admission ─▶ what its pictures are: repeated, frozen, a cut; whether there is time for it;
//                what a policy says that goes by the pictures
//   prediction ─▶ what its flow is worth, what a policy says that goes by it ─▶ learned from, or
//                 why not
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/mutex.h"
#include "pipeline/decisions/divergence_guard.h"
#include "pipeline/decisions/flow_motion.h"
#include "pipeline/decisions/picture_events.h"
#include "pipeline/decisions/skip_reason.h"
#include "pipeline/decisions/update_policy.h"
#include "pipeline/decisions/weight_health.h"

namespace millrace::pipeline {

struct LearningOptions {
  UpdatePolicyOptions policy = {};
  PictureEventOptions events = {};
  DivergenceOptions divergence = {};
};

/// A sample as it comes.
struct AdmittedSample {
  std::int64_t number = 0;
  /// Between its two pictures, or the newer two of three: MeanDifference().
  double difference = 0;
  /// Between the older two of three.
  std::optional<double> difference_before = {};
  /// There is time to learn from every n-th sample only; 0: from none.
  int learn_from_every = 1;
  /// Nothing is learned from it.
  bool held = false;
};

/// A flow as it was predicted, and scored before anything learned from it.
struct ScoredFlow {
  std::int64_t sample = 0;
  /// (dx, dy) for every pixel, as MotionOf() takes it.
  std::span<const float> flow = {};
  int width = 0;
  int height = 0;
  bool finite = true;
  double loss = 0;
  double loss_no_motion = 0;
};

/// The decisions of one stream. OnAdmitted() is for the thread that admits samples and the rest for
/// the one that judges predictions, where nothing else is said; a sample is admitted before it is
/// judged.
class LearningDecisions {
 public:
  /// `health` is told of each prediction of pictures that say something of the weights, and
  /// outlives this. REQUIRES: CheckUpdatePolicy(options.policy) is OK.
  LearningDecisions(const LearningOptions& options, WeightHealth& health);

  /// Decides by another policy from the next admitted sample on, which is its first. The policy of
  /// the options counts from sample 0, so that a stream that goes on does not warm up again. On any
  /// thread.
  /// REQUIRES: CheckUpdatePolicy(policy) is OK.
  void SetPolicy(const UpdatePolicyOptions& policy) ABSL_LOCKS_EXCLUDED(mu_);

  /// Takes the next sample. At most a thousand may lie between the last one admitted and the last
  /// one judged.
  void OnAdmitted(const AdmittedSample& sample);

  /// Decides.
  SkipReason Decide(const ScoredFlow& scored);

  /// What can be said of `sample` before it is judged: whether nothing that was known at its
  /// admission speaks against learning from it. On any thread between its admission and a thousand
  /// samples later.
  [[nodiscard]] bool MayTeach(std::int64_t sample) const {
    const Noted& noted = Note(sample);
    return noted.event == SkipReason::kNone && noted.unwanted == SkipReason::kNone;
  }

 private:
  struct Noted {
    std::int64_t sample = -1;
    SkipReason event = SkipReason::kNone;       // Of its pictures.
    SkipReason unwanted = SkipReason::kNone;    // kHeld, kRate or kPolicy.
    std::shared_ptr<UpdatePolicy> policy = {};  // Shared by the samples that it is for.
  };

  void TakeNextPolicy(std::int64_t first_sample) ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] SkipReason EventOf(const AdmittedSample& sample);
  [[nodiscard]] SkipReason WhyUnwanted(const AdmittedSample& sample);
  [[nodiscard]] SkipReason WhyNot(const ScoredFlow& scored, const Noted& noted);
  [[nodiscard]] const Noted& Note(std::int64_t sample) const;

  PictureEvents events_;
  // For the next sample. Asked by the thread that admits, unless it needs the motion.
  std::shared_ptr<UpdatePolicy> policy_;
  WeightHealth& health_;
  std::vector<Noted> notes_;  // A ring; each place is of one thread after the other.

  std::atomic<bool> policy_changes_ = false;
  Mutex mu_;
  std::optional<UpdatePolicyOptions> next_policy_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millrace::pipeline
