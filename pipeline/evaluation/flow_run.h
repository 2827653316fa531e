// One learner on one clip: what it is worth while it learns, what a client would have had at each
// instant, and what it still knows, and knows of other streams, once it no longer learns.
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
#include "pipeline/evaluation/clip.h"
#include "pipeline/evaluation/scored_stream.h"
#include "pipeline/learner/learner.h"
#include "pipeline/planner/live_simulation.h"

namespace millrace::pipeline {

/// A part of a clip on which the learner is tried when it no longer learns.
struct FrozenTest {
  enum class Part { kFirst, kLast };

  std::string name;
  ClipSource clip;
  Part part = Part::kFirst;
  /// Of another stream than the one that is learned from.
  bool other = false;
};

struct FlowRunOptions {
  /// Where its pairs have the picture before, so have the frozen tests', and the learner foretells
  /// the next frame: then a pair is scored by how well its current picture was foretold, which the
  /// prediction of its own sample says, and its flow is not.
  ClipSource clip;
  /// Makes the learner, which must take pictures of the clip's size.
  std::function<absl::StatusOr<std::unique_ptr<Learner>>(OnPrediction)> make;
  /// A camera that does not wait: which pairs are learned from, and when each prediction is there,
  /// with `frame` a pair's number (SimulateSamples()). nullopt: every pair waits for its turn.
  /// REQUIRES: none for the next frame.
  std::optional<std::vector<LiveSample>> camera = {};
  /// Between two pairs of that camera, in the unit of its times.
  double camera_interval = 0;
  /// The length of a window and of a part of a clip, by the stream's own clock.
  std::chrono::nanoseconds window = std::chrono::seconds(60);
  std::vector<FrozenTest> frozen = {};
  /// False: nothing is learned or scored before the frozen tests, which try what `make` made.
  bool learns = true;
  /// Of another method on the same pairs, by their numbers. May be empty; outlives the run.
  std::span<const double> reference_losses = {};
  /// Called for each pair of the clip, where it learns. May be empty.
  std::function<void()> on_pair = {};
  /// Ends the run, between two pairs, with CANCELLED.
  std::stop_token stop = {};
};

struct FlowRunResult {
  /// Of the clip. Less those dropped, each has a prediction.
  std::int64_t pairs = 0;
  std::int64_t dropped = 0;
  /// Each pair that was predicted, by its own prediction: the quality of the model.
  ScoredStream model;
  /// Each pair of the clip, dropped or not, by the newest prediction that was there when its
  /// current picture came, and no motion before the first: what a client has at every instant (Li,
  /// Wang and Ramanan, "Towards streaming perception", ECCV 2020). Only with a camera.
  std::optional<ScoredStream> streaming = {};
  struct Frozen {
    std::string name;
    StreamScores scores;
    bool other = false;
    /// RunFlowAndCompare() (retention.h): of what nothing had been learned with, and of what had
    /// just been learned with the same part.
    std::optional<StreamScores> initial = {};
    std::optional<StreamScores> right_after = {};
  };
  /// As `FlowRunOptions::frozen`.
  std::vector<Frozen> frozen;
  /// Of the stages, at the end.
  std::vector<std::int64_t> updates;
  LearningFigures learning;
  std::vector<StageDescription> stages;
};

/// Runs it, on the calling thread and those of the learner. Fails as the clip and the learner do.
[[nodiscard]] absl::StatusOr<FlowRunResult> RunFlow(const FlowRunOptions& options);

}  // namespace millrace::pipeline
