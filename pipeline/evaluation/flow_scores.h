// Scores of a flow: against the true motion, and by the pictures seen through it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "pipeline/evaluation/clip.h"
#include "pipeline/evaluation/pictures.h"

namespace millrace::pipeline {

/// A running mean over pixels.
class PixelMean {
 public:
  PixelMean() = default;
  /// A mean of `count` values with this sum.
  PixelMean(double sum, std::int64_t count) : sum_(sum), count_(count) {}

  void Add(double value) {
    sum_ += value;
    ++count_;
  }
  void Add(const PixelMean& more) {
    sum_ += more.sum_;
    count_ += more.count_;
  }
  [[nodiscard]] double sum() const { return sum_; }
  [[nodiscard]] std::int64_t count() const { return count_; }
  /// nullopt without pixels.
  [[nodiscard]] std::optional<double> mean() const {
    if (count_ == 0) return std::nullopt;
    return sum_ / static_cast<double>(count_);
  }

 private:
  double sum_ = 0;
  std::int64_t count_ = 0;
};

/// Counts of moving pixels: predicted against true.
struct MotionCounts {
  std::int64_t both = 0;
  std::int64_t predicted_only = 0;
  std::int64_t true_only = 0;

  /// 2 both / (2 both + predicted_only + true_only). nullopt if no pixel moves, predicted or true.
  [[nodiscard]] std::optional<double> f1() const;
};

/// Scores of any number of pairs. Means are over all pixels with known truth, except the
/// reconstruction scores. A flow that is not finite counts as no motion.
struct FlowScores {
  /// End-point error: the distance from the true vector, in the truth's pixels.
  PixelMean error;
  /// For visible and for hidden pixels, where the clip marks them.
  PixelMean error_visible;
  PixelMean error_hidden;
  /// By the length of the true vector: under 1 pixel, up to 10, above.
  PixelMean error_slow;
  PixelMean error_medium;
  PixelMean error_fast;
  /// 1 where the error is above 3 pixels and above 5 % of the true vector: KITTI's Fl (Menze and
  /// Geiger, CVPR 2015).
  PixelMean outlier;
  /// In degrees, between (dx, dy, 1) predicted and true (Barron, Fleet and Beauchemin, IJCV 1994).
  PixelMean angle;
  /// For each pair: how well FlowUncertainty() orders its pixels by their errors (RelativeAuse()).
  PixelMean ause;
  /// FlowUncertainty() of the pixels with known truth, in its pixels: compare with `error`.
  PixelMean uncertainty;
  /// Moving: a side of the vector is longer than half a pixel. Motion-F1 of Marullo, Tiezzi and
  /// Betti, CoLLAs 2022.
  MotionCounts motion;
  /// The reconstruction accuracy of the same paper. 1 where the current picture, sampled at the
  /// flow's target, is within 0.05 (0.025) of the previous one in every colour. Counts the pixels
  /// that are known to move, by the nearest true vector. Without any truth, counts the pixels that
  /// differ between the pictures by 0.05 in a colour. A flow of zeros reconstructs 0 of them within
  /// 0.05.
  PixelMean reconstructed;
  PixelMean reconstructed_closely;

  void Add(const FlowScores& more);
};

/// The scores of `flow`, which has the pictures' size. `truth` may be null.
[[nodiscard]] FlowScores ScoresOf(const PairOfPictures& pair, std::span<const float> flow,
                                  const TrueFlow* truth);

}  // namespace millrace::pipeline
