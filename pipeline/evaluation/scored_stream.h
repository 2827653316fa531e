// The scores of a whole stream and of its windows, for any method.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <vector>

#include "pipeline/decisions/score_windows.h"
#include "pipeline/evaluation/clip.h"
#include "pipeline/evaluation/flow_scores.h"

namespace millrace::pipeline {

/// Prequential if the method learns: each flow was made before the method learned from its pair.
struct StreamScores {
  ScoreSummary loss;
  FlowScores flow;
};

struct WindowScores {
  /// The start of the window, on the stream's own clock.
  std::chrono::nanoseconds start{0};
  StreamScores scores;
};

struct ScoredStream {
  StreamScores whole;
  std::vector<WindowScores> windows;
};

/// The photometric losses of a pair: of the prediction, and of no motion.
struct PairLosses {
  double loss = 0;
  double loss_no_motion = 0;
};

/// Scores flows one by one. For one thread.
class StreamScorer {
 public:
  /// Windows of `length` of the stream's time. `reference_losses`: those of another method, by a
  /// pair's number. It may be empty, and outlives the scorer. REQUIRES: length > 0.
  StreamScorer(std::chrono::nanoseconds length, int width, int height,
               std::span<const double> reference_losses = {});

  /// Adds the next pair, in the order of the stream. Returns the photometric loss of the flow.
  double Add(const ClipPair& pair, std::span<const float> flow, bool learned_from);

  /// Adds a pair with known losses, whose flow is not scored: a next frame's flow predicts future
  /// motion. A loss that is not finite counts as that of no motion.
  void AddLosses(const ClipPair& pair, const PairLosses& losses, bool learned_from);

  /// The final scores. Nothing may be added afterwards.
  [[nodiscard]] ScoredStream Finish() &&;

 private:
  void Close(const ScoreWindow& window);

  const int width_;
  const int height_;
  const std::span<const double> reference_losses_;
  ScoreWindows losses_;
  FlowScores of_window_;
  ScoredStream scored_;
};

}  // namespace millrace::pipeline
