// What a client has at every instant: the newest prediction that is there.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "pipeline/evaluation/clip.h"
#include "pipeline/evaluation/scored_stream.h"

namespace millrace::pipeline {

/// Scores every pair of a camera by the newest flow that was there when its current picture came.
/// Pairs and flows come in the order of the stream, either first. For one thread.
class NewestFlowScorer {
 public:
  using Flow = std::shared_ptr<const std::vector<float>>;

  /// `interval`: between two pairs; pair n comes n intervals after pair 0.
  NewestFlowScorer(double interval, Flow before_the_first, StreamScorer scorer);

  void AddPair(ClipPair pair);
  /// REQUIRES: `there_at` does not decrease.
  void AddFlow(double there_at, Flow flow, bool learned_from);
  /// No more flows come.
  [[nodiscard]] ScoredStream Finish() &&;

 private:
  struct Made {
    double there_at;
    Flow flow;
    bool learned_from;
  };

  // Scores the pairs before which no other flow can come.
  void ScoreUntil(double time);

  const double interval_;
  StreamScorer scorer_;
  std::deque<ClipPair> pairs_;
  Made newest_;
  std::deque<Made> coming_;
};

}  // namespace millrace::pipeline
