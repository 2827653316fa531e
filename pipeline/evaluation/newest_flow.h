// Scores the newest prediction that a client has at every instant.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "pipeline/evaluation/clip.h"
#include "pipeline/evaluation/scored_stream.h"

namespace millrace::pipeline {

/// Scores every pair of a camera by the newest flow at the time of its current picture. Pairs and
/// flows are added in the order of the stream; either may come first. For one thread.
class NewestFlowScorer {
 public:
  using Flow = std::shared_ptr<const std::vector<float>>;

  /// `interval`: the time between two pairs; pair n arrives n intervals after pair 0.
  NewestFlowScorer(double interval, Flow before_the_first, StreamScorer scorer);

  void AddPair(ClipPair pair);
  /// REQUIRES: `there_at` does not decrease.
  void AddFlow(double there_at, Flow flow, bool learned_from);
  /// Call it after the last flow.
  [[nodiscard]] ScoredStream Finish() &&;

 private:
  struct Made {
    double there_at;
    Flow flow;
    bool learned_from;
  };

  // Scores the pairs that no later flow can precede.
  void ScoreUntil(double time);

  const double interval_;
  StreamScorer scorer_;
  std::deque<ClipPair> pairs_;
  Made newest_;
  std::deque<Made> coming_;
};

}  // namespace millrace::pipeline
