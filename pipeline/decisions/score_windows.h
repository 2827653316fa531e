// Prequential scores: what a model was worth on each sample before it learned from it, over the
// whole stream and over windows of the stream's own time.
//
// Gama, Sebastião and Rodrigues, "On evaluating stream learning algorithms", Machine Learning
// 90(3), 2013, section 2: tested first, then trained on, in the order of the stream. Raw losses
// follow what the camera sees, so each stands beside that of no motion on the same pictures.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

namespace millrace::pipeline {

/// One prediction, scored.
struct Score {
  /// The stream's own clock, from any start on. Never goes back.
  std::chrono::nanoseconds stream_time{0};
  double loss = 0;
  double loss_no_motion = 0;
  /// Of another method on the same pictures, where one runs beside: OpenCV's DIS.
  std::optional<double> loss_reference = {};
  bool learned_from = true;
};

/// What a number of scores come to.
struct ScoreSummary {
  std::int64_t predictions = 0;
  std::int64_t learned_from = 0;
  double loss = 0;  ///< Means.
  double loss_no_motion = 0;
  double loss_deviation = 0;  ///< The standard deviation of the loss.
  double loss_p10 = 0;        ///< A tenth of the losses is no more; 0 for a whole stream.
  double loss_p90 = 0;
  /// Over the predictions that have one.
  std::optional<double> loss_reference = {};

  /// Loss over that of no motion: below 1 the model is worth something.
  [[nodiscard]] double ratio() const;
  /// (no motion - model) / (no motion - reference): 1 is as good as the reference. Nothing without
  /// a reference that is better than no motion.
  [[nodiscard]] std::optional<double> gain() const;
};

/// One window: [start, start + length) of the stream's time.
struct ScoreWindow {
  std::chrono::nanoseconds start{0};
  ScoreSummary summary;
};

/// Adds scores up. Not thread-safe.
class ScoreWindows {
 public:
  /// Windows of `length`, one after the other from the first score on.
  /// REQUIRES: length > 0.
  explicit ScoreWindows(std::chrono::nanoseconds length);

  /// Takes the next score. Returns the window before if this one is the first of another. Windows
  /// without any score are left out. A score that is not finite counts as a prediction only.
  std::optional<ScoreWindow> Add(const Score& score);

  /// The window that is not full yet, if it has scores.
  [[nodiscard]] std::optional<ScoreWindow> Open() const;
  [[nodiscard]] const ScoreSummary& whole() const { return whole_; }

 private:
  // Sums of what can be averaged.
  struct Sums {
    std::int64_t predictions = 0;
    std::int64_t learned_from = 0;
    std::int64_t finite = 0;
    std::int64_t with_reference = 0;
    double loss = 0;
    double squares = 0;  // Of the distances from the mean.
    double no_motion = 0;
    double reference = 0;
  };

  static void Add(const Score& score, Sums& sums);
  static ScoreSummary Summarize(const Sums& sums, std::vector<double> losses);

  const std::chrono::nanoseconds length_;
  std::optional<std::chrono::nanoseconds> start_;  // Of the open window.
  Sums open_;
  std::vector<double> losses_;  // Of the open window.
  Sums all_;
  ScoreSummary whole_;
};

}  // namespace millrace::pipeline
