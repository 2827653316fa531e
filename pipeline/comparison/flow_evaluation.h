// Compares learners of optical flow on one clip: networks, schedules, numbers of stages, camera
// rates and seeds, beside what does not learn.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/evaluation/clip.h"
#include "pipeline/evaluation/flow_run.h"
#include "pipeline/learner/flow_learner_options.h"
#include "pipeline/learner/learner.h"

namespace millrace::pipeline {

/// What one run differs by from the others.
struct FlowRunName {
  std::string network;
  std::string schedule;
  int stages = 1;
  /// Of a camera that does not wait, frames a second; 0: every pair waits for its turn.
  double camera_rate = 0;
  std::uint64_t seed = 0;

  /// Whether two runs are the same but for the seed.
  [[nodiscard]] bool SameButSeed(const FlowRunName& other) const;
  /// "flow one_f_one_b_star x4 at 25/s".
  [[nodiscard]] std::string Text() const;
};

struct FlowEvaluationOptions {
  /// The one that all seeds run on, or one for each seed. All of one size. For the next frame they
  /// are read as WithPictureBefore() says.
  std::vector<ClipSource> clips;
  /// Of the same size. What has been learned is tried on the first window of each.
  std::vector<ClipSource> others = {};
  /// All but what FlowRunName says and the weights. Its pictures' size is the clips'.
  FlowLearnerOptions learner = {};
  /// The files that runs begin with: one for all seeds, or one for each. Empty: random weights.
  std::vector<std::string> weights = {};
  /// Every combination runs, but: `sequential` in one stage, and that only, whatever `stages` says;
  /// `local` with the network `levels` only. `one_f_one_b_star` has each stage as a group of its
  /// own, unless `learner` gives a period: groups by measured costs differ from run to run.
  std::vector<std::string> networks = {"flow"};
  std::vector<std::string> schedules = {"sequential"};
  std::vector<int> stages = {1};
  std::vector<std::uint64_t> seeds = {0};
  /// hybrid: the pair before which it becomes sequential, in place of the learner's. 0: the one in
  /// the middle of its clip, so that it learns both ways however short the clip is.
  std::int64_t switch_at = 0;
  /// Frames a second of a camera that does not wait, with stages that take on paper what `step_ms`
  /// says. Empty: every pair waits for its turn.
  std::vector<double> camera_rates = {};
  /// What one sample costs one device: forward, backward and update of the whole network. Its
  /// shares among the layers are measured here. 0: measured as well.
  double step_ms = 0;
  /// Standard deviation of the logarithm of an operation's time, on paper.
  double spread = 0.1;
  /// Try what has been learned on the first and the last window of its clip and on `others`.
  bool frozen = true;
  /// Of ReferenceFlowNames(); for the next frame none but "none", which is the newest picture
  /// again.
  std::vector<std::string> references = {"none", "dis", "farneback"};
  std::chrono::nanoseconds window = std::chrono::seconds(60);
  /// Runs at once.
  int jobs = 1;
  /// Told of the pairs that are done, learned from or referred to, of how many there are; from
  /// several threads. May be empty.
  std::function<void(std::int64_t done, std::int64_t all)> on_progress = {};
  std::stop_token stop = {};
};

struct FlowEvaluation {
  struct Reference {
    std::string name;
    /// Of FlowEvaluationOptions::clips.
    std::size_t clip = 0;
    ScoredStream scores;
  };
  struct Run {
    FlowRunName name;
    /// The layer, counted from 0, that starts each stage after the first.
    std::vector<int> cuts;
    /// What the stages cost on paper, learning from every sample. Only with a camera.
    double step_ms = 0;
    /// hybrid: the pair before which it became sequential, if there were so many. Otherwise none.
    std::optional<std::int64_t> switch_at = {};
    FlowRunResult result;
  };

  /// Whether it is about how well the next frame was foretold, and not about flow.
  bool next_frame = false;
  /// Of each clip, as they were read.
  std::vector<std::int64_t> pairs;
  /// By name, then clip.
  std::vector<Reference> references;
  /// By network, schedule, stages, rate, then seed.
  std::vector<Run> runs;
};

/// Runs all of it, with one set of cuts for all seeds and rates. Values depend on those, on a run's
/// name and, behind a camera and for interleaved, on what was measured; not on timing, unless
/// weights go wrong and older ones take their place. Fails with INVALID_ARGUMENT on what cannot be
/// run, before anything does; then with the first failure, and with CANCELLED when asked to end.
/// REQUIRES: one clip, or as many as seeds.
[[nodiscard]] absl::StatusOr<FlowEvaluation> EvaluateFlow(const FlowEvaluationOptions& options);

}  // namespace millrace::pipeline
