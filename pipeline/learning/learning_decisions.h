// Decides for every sample whether the network learns from it, once, so that stages never disagree:
// what is decided travels with the sample.
//
//   admission ─▶ what its pictures are: repeated, frozen, a cut
//   prediction ─▶ what its flow is worth, what the policy says ─▶ learned from, or why not
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "pipeline/learning/divergence_guard.h"
#include "pipeline/learning/flow_motion.h"
#include "pipeline/learning/picture_events.h"
#include "pipeline/learning/skip_reason.h"
#include "pipeline/learning/update_policy.h"
#include "pipeline/learning/weight_health.h"

namespace millrace::pipeline {

struct LearningOptions {
  UpdatePolicyOptions policy = {};
  PictureEventOptions events = {};
  DivergenceOptions divergence = {};
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

  /// Takes the next sample, of two pictures that differ by `difference` (MeanDifference()), or of
  /// three, whose older two differ by `difference_before`. At most a thousand samples may lie
  /// between the last one admitted and the last one judged.
  void OnAdmitted(std::int64_t sample, double difference,
                  std::optional<double> difference_before = {});

  /// Decides. `learn_from_every`: there is time for every n-th sample only; 0: for none.
  SkipReason Decide(const ScoredFlow& scored, int learn_from_every);

  /// What was decided of `sample`, for a forward that is run again. REQUIRES: Decide() was called
  /// for it, and not for a thousand samples after it.
  [[nodiscard]] SkipReason Decided(std::int64_t sample) const { return Note(sample).decision; }

  /// What can be said of `sample` before it is judged: whether neither its pictures nor the time
  /// that there is speak against learning from it. On any thread between its admission and a
  /// thousand samples later.
  [[nodiscard]] bool MayTeach(std::int64_t sample, int learn_from_every) const {
    const Noted& noted = Note(sample);
    return noted.event == SkipReason::kNone && HasTime(sample, learn_from_every) &&
           policy_.MayLearn(sample, noted.difference);
  }

 private:
  struct Noted {
    std::int64_t sample = -1;
    double difference = 0;
    SkipReason event = SkipReason::kNone;
    SkipReason decision = SkipReason::kNone;
  };

  [[nodiscard]] SkipReason WhyNot(const ScoredFlow& scored, const Noted& noted,
                                  int learn_from_every);
  [[nodiscard]] const Noted& Note(std::int64_t sample) const;
  [[nodiscard]] static bool HasTime(std::int64_t sample, int learn_from_every) {
    return learn_from_every > 0 && sample % learn_from_every == 0;
  }

  PictureEvents events_;
  UpdatePolicy policy_;
  WeightHealth& health_;
  std::vector<Noted> notes_;  // A ring; each place is of one thread after the other.
};

}  // namespace millrace::pipeline
