// Runs one learner on one clip. Scores the learner while it learns, and a client's view at each
// instant. Then scores its knowledge of this and other streams after it stopped learning.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "pipeline/evaluation/clip.h"
#include "pipeline/evaluation/paced_camera.h"
#include "pipeline/evaluation/scored_stream.h"
#include "pipeline/learner/learner.h"
#include "pipeline/planner/live_simulation.h"

namespace millrace::pipeline {

/// A part of a clip for a test after learning has stopped.
struct FrozenTest {
  enum class Part { kFirst, kLast };

  std::string name;
  ClipSource clip;
  Part part = Part::kFirst;
  /// Whether it is another stream than the learned one.
  bool other = false;
};

struct FlowRunOptions {
  /// The clip. If its pairs have the picture before, so have the frozen tests', and the learner
  /// predicts the next frame. The score of a pair is then the quality of its predicted current
  /// picture, which is part of its own sample's prediction. Its flow is not scored.
  ClipSource clip;
  /// Makes the learner, which must accept pictures of the clip's size.
  std::function<absl::StatusOr<std::unique_ptr<Learner>>(OnPrediction)> make;
  /// Simulates a camera that does not wait: the pairs to learn from, and the time of each
  /// prediction. `frame` is a pair's number (SimulateSamples()). nullopt: every pair waits for its
  /// turn. REQUIRES: nullopt for the next frame.
  std::optional<std::vector<LiveSample>> camera = {};
  /// The time between two pairs of that camera, in the unit of its times.
  double camera_interval = 0;
  /// A camera that does not wait, by a clock: pair n comes n intervals after pair 0. While the
  /// learner has no room, a newer pair replaces the waiting one. The clip is read before the first
  /// pair and scored after the last, so that only the learner needs the cores meanwhile.
  /// Until then it keeps PacedBytes() of each pair. 0: no such camera. REQUIRES: 0 for the next
  /// frame, and with `camera`.
  nanoseconds paced_interval{0};
  /// The clock of that camera. Outlives the run.
  const Clock* clock = &MonotonicClock();
  /// Waits for a time of `clock`. Empty: the thread sleeps.
  PacedCamera::Sleep sleep = {};
  /// The length of a window and of a part of a clip, by the stream's own clock.
  std::chrono::nanoseconds window = std::chrono::seconds(60);
  std::vector<FrozenTest> frozen = {};
  /// False: does not learn or score before the frozen tests, which test the learner as `make` made
  /// it.
  bool learns = true;
  /// The losses of another method on the same pairs, by their numbers. May be empty; outlives the
  /// run.
  std::span<const double> reference_losses = {};
  /// Called for each pair of the clip, if `learns`. May be empty.
  std::function<void()> on_pair = {};
  /// Ends the run, between two pairs, with CANCELLED.
  std::stop_token stop = {};
};

struct FlowRunResult {
  /// Pairs of the clip. Each has a prediction, except the dropped ones.
  std::int64_t pairs = 0;
  std::int64_t dropped = 0;
  /// The scores of each predicted pair by its own prediction: the quality of the model.
  ScoredStream model;
  /// The scores of each pair of the clip, dropped or not, by the newest prediction at the time of
  /// its current picture. Before the first prediction, the score is that of no motion. This is what
  /// a client has at every instant (Li, Wang and Ramanan, "Towards streaming perception", ECCV
  /// 2020). Only with a camera.
  std::optional<ScoredStream> streaming = {};
  struct Frozen {
    std::string name;
    StreamScores scores;
    bool other = false;
    /// From RunFlowAndCompare() (retention.h): the scores of an untrained learner, and of a learner
    /// that had just learned the same part.
    std::optional<StreamScores> initial = {};
    std::optional<StreamScores> right_after = {};
  };
  /// In the order of `FlowRunOptions::frozen`.
  std::vector<Frozen> frozen;
  /// Updates of each stage at the end.
  std::vector<std::int64_t> updates;
  /// Learner::update_cosines().
  std::vector<std::optional<double>> update_cosines;
  LearningFigures learning;
  std::vector<StageDescription> stages;
};

/// The memory that a run behind a paced camera takes for one pair of `clip`, in bytes.
[[nodiscard]] std::int64_t PacedBytes(const ClipSource& clip, const ClipPair& pair);

/// Runs on the calling thread and on those of the learner. Fails as the clip and the learner do.
[[nodiscard]] absl::StatusOr<FlowRunResult> RunFlow(const FlowRunOptions& options);

}  // namespace millrace::pipeline
