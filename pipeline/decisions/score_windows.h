// Prequential scores: a model's loss on each sample before it learned from it, over the whole
// stream and over windows of the stream's time.
//
// The reference is Gama, Sebastião and Rodrigues, "On evaluating stream learning algorithms",
// Machine Learning 90(3), 2013, section 2. The test on a sample comes before the training on it, in
// the order of the stream. Raw losses depend on the camera's scene. So each score pairs a loss with
// the loss of no motion on the same pictures.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

namespace millrace::pipeline {

/// One prediction, scored.
struct Score {
  /// The stream's own clock, with any origin. Never decreases.
  std::chrono::nanoseconds stream_time{0};
  double loss = 0;
  double loss_no_motion = 0;
  /// The loss of a reference method on the same pictures, such as OpenCV's DIS, if one runs.
  std::optional<double> loss_reference = {};
  bool learned_from = true;
};

/// The summary of several scores.
struct ScoreSummary {
  std::int64_t predictions = 0;
  std::int64_t learned_from = 0;
  double loss = 0;  ///< Mean.
  double loss_no_motion = 0;
  double loss_deviation = 0;  ///< The standard deviation of the loss.
  double loss_p10 = 0;        ///< The 10th percentile of the loss; 0 for a whole stream.
  double loss_p90 = 0;
  /// The mean over the predictions that have one.
  std::optional<double> loss_reference = {};

  /// Loss divided by the loss of no motion. Below 1, the model is better than no motion.
  [[nodiscard]] double ratio() const;
  /// (no motion - model) / (no motion - reference): 1 is as good as the reference. nullopt unless
  /// there is a reference that is better than no motion.
  [[nodiscard]] std::optional<double> gain() const;
};

/// One window: [start, start + length) of the stream's time.
struct ScoreWindow {
  std::chrono::nanoseconds start{0};
  ScoreSummary summary;
};

/// Sums up scores. Not thread-safe.
class ScoreWindows {
 public:
  /// Windows of `length` follow each other from the first score on. REQUIRES: length > 0.
  explicit ScoreWindows(std::chrono::nanoseconds length);

  /// Adds the next score. If it is the first of a new window, returns the window before. Windows
  /// without scores are skipped. A score that is not finite counts only as a prediction.
  std::optional<ScoreWindow> Add(const Score& score);

  /// The current window, if it has scores.
  [[nodiscard]] std::optional<ScoreWindow> Open() const;
  [[nodiscard]] const ScoreSummary& whole() const { return whole_; }

 private:
  // Sums for the means.
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
