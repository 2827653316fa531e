#include "pipeline/evaluation/flow_scores.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>

#include "base/check.h"
#include "pipeline/evaluation/ause.h"

namespace millrace::pipeline {
namespace {

constexpr double kMoving = 0.5;
constexpr float kNear = 0.05F;
constexpr float kNearer = 0.025F;

struct Vector {
  double x = 0;
  double y = 0;

  [[nodiscard]] double length() const { return std::hypot(x, y); }
  [[nodiscard]] bool moves() const { return std::max(std::abs(x), std::abs(y)) > kMoving; }
};

Vector VectorAt(std::span<const float> flow, std::size_t pixel) {
  const Vector vector{flow[2 * pixel], flow[2 * pixel + 1]};
  return std::isfinite(vector.x) && std::isfinite(vector.y) ? vector : Vector{};
}

double AngleBetween(const Vector& a, const Vector& b) {
  const double dot = a.x * b.x + a.y * b.y + 1;
  const double lengths = std::sqrt((a.x * a.x + a.y * a.y + 1) * (b.x * b.x + b.y * b.y + 1));
  return std::acos(std::clamp(dot / lengths, -1.0, 1.0)) * 180 / std::numbers::pi;
}

// Returns the end-point error.
double ScorePixel(const Vector& predicted, const Vector& truth, FlowScores& scores) {
  const double error = std::hypot(predicted.x - truth.x, predicted.y - truth.y);
  const double length = truth.length();
  scores.error.Add(error);
  (length < 1     ? scores.error_slow
   : length <= 10 ? scores.error_medium
                  : scores.error_fast)
      .Add(error);
  scores.outlier.Add(error > 3 && error > 0.05 * length ? 1 : 0);
  scores.angle.Add(AngleBetween(predicted, truth));
  scores.motion.both += predicted.moves() && truth.moves() ? 1 : 0;
  scores.motion.predicted_only += predicted.moves() && !truth.moves() ? 1 : 0;
  scores.motion.true_only += !predicted.moves() && truth.moves() ? 1 : 0;
  return error;
}

struct Size {
  int width = 0;
  int height = 0;
};

Size SizeOf(const PairOfPictures& pair) { return {pair.width(), pair.height()}; }
Size SizeOf(const TrueFlow& truth) { return {truth.width, truth.height}; }

// The index of the pixel that lies at the place of (x, y), from one size of a picture to another.
std::size_t NearestPixel(int x, int y, Size from, Size to) {
  const int to_x = (2 * x + 1) * to.width / (2 * from.width);
  const int to_y = (2 * y + 1) * to.height / (2 * from.height);
  return static_cast<std::size_t>(to_y) * to.width + to_x;
}

/// Compares errors with what FlowUncertainty() expects. `errors`: of each pixel of the truth, NaN
/// where it is unknown.
void ScoreUncertainty(const PairOfPictures& pair, std::span<const float> flow,
                      const TrueFlow& truth, const std::vector<double>& errors,
                      FlowScores& scores) {
  const std::vector<float> expected = FlowUncertainty(pair.Under(flow));
  // A vector's direction is unknown, so one scale serves both sides.
  const auto truths = static_cast<double>(errors.size());
  const auto pixels = static_cast<double>(expected.size());
  const auto scale = static_cast<float>(std::sqrt(truths / pixels));
  std::vector<double> known_errors;
  std::vector<float> known;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    if (std::isnan(errors[i])) continue;
    known_errors.push_back(errors[i]);
    const int x = static_cast<int>(i) % truth.width;
    const int y = static_cast<int>(i) / truth.width;
    known.push_back(scale * expected[NearestPixel(x, y, SizeOf(truth), SizeOf(pair))]);
    if (std::isfinite(known.back())) scores.uncertainty.Add(known.back());
  }
  if (const auto ause = RelativeAuse(known_errors, known)) scores.ause.Add(*ause);
}

void ScoreTruth(const PairOfPictures& pair, std::span<const float> flow, const TrueFlow& truth,
                FlowScores& scores) {
  const std::size_t pixels = static_cast<std::size_t>(truth.width) * truth.height;
  MILLRACE_CHECK(truth.flow.size() == 2 * pixels);
  const std::vector<float> predicted =
      ResizedFlow(flow, pair.width(), pair.height(), truth.width, truth.height);
  std::vector<double> errors(pixels, std::numeric_limits<double>::quiet_NaN());
  for (std::size_t i = 0; i < pixels; ++i) {
    if (!truth.known.empty() && truth.known[i] == 0) continue;
    const Vector there = VectorAt(predicted, i);
    const Vector true_there = VectorAt(truth.flow, i);
    errors[i] = ScorePixel(there, true_there, scores);
    if (truth.visible.empty()) continue;
    (truth.visible[i] != 0 ? scores.error_visible : scores.error_hidden).Add(errors[i]);
  }
  ScoreUncertainty(pair, flow, truth, errors, scores);
}

// Whether a pixel of the pictures is known to move, by the nearest true vector. Known and unknown
// vectors cannot be interpolated.
bool MovesAt(const TrueFlow& truth, const PairOfPictures& pair, int x, int y) {
  const std::size_t nearest = NearestPixel(x, y, SizeOf(pair), SizeOf(truth));
  if (!truth.known.empty() && truth.known[nearest] == 0) return false;
  Vector vector = VectorAt(truth.flow, nearest);
  vector.x *= static_cast<double>(pair.width()) / truth.width;
  vector.y *= static_cast<double>(pair.height()) / truth.height;
  return vector.moves();
}

// The pixels to reconstruct: the moving ones, as far as the truth is known.
std::vector<bool> Moving(const PairOfPictures& pair, const TrueFlow* truth) {
  const std::size_t pixels = static_cast<std::size_t>(pair.width()) * pair.height();
  std::vector<bool> moving(pixels);
  if (truth == nullptr) {
    const std::vector<float> changed = pair.Differences(std::vector<float>(2 * pixels));
    for (std::size_t i = 0; i < pixels; ++i) moving[i] = changed[i] >= kNear;
    return moving;
  }
  std::size_t pixel = 0;
  for (int y = 0; y < pair.height(); ++y) {
    for (int x = 0; x < pair.width(); ++x, ++pixel) moving[pixel] = MovesAt(*truth, pair, x, y);
  }
  return moving;
}

}  // namespace

std::optional<double> MotionCounts::f1() const {
  const std::int64_t all = 2 * both + predicted_only + true_only;
  if (all == 0) return std::nullopt;
  return 2.0 * static_cast<double>(both) / static_cast<double>(all);
}

void FlowScores::Add(const FlowScores& more) {
  constexpr PixelMean FlowScores::*kMeans[] = {
      &FlowScores::error,       &FlowScores::error_visible, &FlowScores::error_hidden,
      &FlowScores::error_slow,  &FlowScores::error_medium,  &FlowScores::error_fast,
      &FlowScores::outlier,     &FlowScores::angle,         &FlowScores::ause,
      &FlowScores::uncertainty, &FlowScores::reconstructed, &FlowScores::reconstructed_closely};
  for (PixelMean FlowScores::*const mean : kMeans) (this->*mean).Add(more.*mean);
  motion.both += more.motion.both;
  motion.predicted_only += more.motion.predicted_only;
  motion.true_only += more.motion.true_only;
}

FlowScores ScoresOf(const PairOfPictures& pair, std::span<const float> flow,
                    const TrueFlow* truth) {
  FlowScores scores;
  if (truth != nullptr) ScoreTruth(pair, flow, *truth, scores);
  const std::vector<bool> moving = Moving(pair, truth);
  const std::vector<float> differences = pair.Differences(flow);
  for (std::size_t i = 0; i < differences.size(); ++i) {
    if (!moving[i]) continue;
    scores.reconstructed.Add(differences[i] < kNear ? 1 : 0);
    scores.reconstructed_closely.Add(differences[i] < kNearer ? 1 : 0);
  }
  return scores;
}

}  // namespace millrace::pipeline
