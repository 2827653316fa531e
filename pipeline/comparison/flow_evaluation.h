// Compares learners of optical flow on one clip: networks, schedules, numbers of stages, camera
// rates and seeds. Reference methods run beside them.
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
#include "pipeline/learner/flow_task_options.h"
#include "pipeline/learner/learner.h"
#include "pipeline/learner/learner_options.h"
#include "pipeline/plan/stage_cost.h"

namespace millrace::pipeline {

/// The parameters of one run.
struct FlowRunName {
  std::string network;
  std::string schedule;
  int stages = 1;
  /// The name of one of FlowEvaluationOptions::optimizers; empty without these.
  std::string optimizer = {};
  /// The rate of a camera that does not wait, in frames per second; 0: every pair waits for its
  /// turn.
  double camera_rate = 0;
  std::uint64_t seed = 0;

  /// Whether two runs differ only in the seed.
  [[nodiscard]] bool SameButSeed(const FlowRunName& other) const;
  /// "flow one_f_one_b_star x4 at 25/s".
  [[nodiscard]] std::string Text() const;
};

struct FlowEvaluation {
  struct Reference {
    std::string name;
    /// The index in FlowEvaluationOptions::clips.
    std::size_t clip = 0;
    ScoredStream scores;
    /// The photometric loss of each pair.
    std::vector<double> losses = {};
  };
  struct Run {
    FlowRunName name;
    OptimizerOptions optimizer;
    /// The first layer of each stage except the first, counted from 0.
    std::vector<int> cuts;
    /// The costs of the stages in milliseconds, from which a camera is simulated.
    std::vector<StageCost> costs = {};
    /// For hybrid: the pair before which it became sequential. nullopt if the clip ended before.
    std::optional<std::int64_t> switch_at = {};
    FlowRunResult result;
  };

  /// Whether the scores are those of the predicted next frame, instead of the flow.
  bool next_frame = false;
  /// Whether the truth is pseudo-truth. Every figure against it must say so.
  bool pseudo_truth = false;
  /// Whether the camera's clock was this machine's.
  bool real_time = false;
  /// The number of pairs read from each clip.
  std::vector<std::int64_t> pairs;
  /// By name, then clip.
  std::vector<Reference> references;
  /// By network, schedule, stages, rate, then seed.
  std::vector<Run> runs;
};

/// Keeps the finished parts of an evaluation beyond the process, so that one that was interrupted
/// continues. Thread-safe.
class FlowResultStore {
 public:
  FlowResultStore() = default;
  virtual ~FlowResultStore() = default;
  FlowResultStore(const FlowResultStore&) = delete;
  FlowResultStore& operator=(const FlowResultStore&) = delete;

  /// `clip` is the index in FlowEvaluationOptions::clips.
  [[nodiscard]] virtual std::optional<FlowEvaluation::Reference> FindReference(
      const std::string& name, std::size_t clip) const = 0;
  [[nodiscard]] virtual std::optional<FlowEvaluation::Run> FindRun(
      const FlowRunName& name) const = 0;
  /// A failure ends the evaluation.
  [[nodiscard]] virtual absl::Status Keep(const FlowEvaluation::Reference& reference) = 0;
  [[nodiscard]] virtual absl::Status Keep(const FlowEvaluation::Run& run) = 0;
};

struct FlowEvaluationOptions {
  /// One clip for all seeds, or one for each seed. All have the same size. For the next frame they
  /// are read through WithPictureBefore().
  std::vector<ClipSource> clips;
  /// Other clips of the same size. The learned weights are tested on the first window of each.
  std::vector<ClipSource> others = {};
  /// Finds the pseudo-truth of `clips` (pseudo_truth.h). REQUIRES: `others` is empty.
  bool pseudo_truth = false;
  /// The options that FlowRunName and `weights` do not set. The size of its pictures is the clips'
  /// size.
  LearnerOptions learner = {};
  FlowTaskOptions task = {};
  /// The files of initial weights: one for all seeds, or one for each. Empty: random weights.
  std::vector<std::string> weights = {};
  /// Every combination runs, with two exceptions. `sequential` runs once, in one stage, whatever
  /// `stages` says. `local` runs only with the network `levels`. In `one_f_one_b_star`, each stage
  /// is its own group, unless `learner` gives a period: groups by measured costs differ from run to
  /// run.
  std::vector<std::string> networks = {kUsualFlowNetwork};
  /// The weight of smoothness. Empty: UsualSmoothness() of each network. Replaces the task's.
  std::optional<double> smoothness = {};
  [[nodiscard]] double SmoothnessOf(const std::string& network) const {
    return smoothness.value_or(UsualSmoothness(network));
  }
  std::vector<std::string> schedules = {"sequential"};
  std::vector<int> stages = {1};
  /// A further dimension of the combinations, each with its name in tables. Empty: the learner's
  /// own optimizer.
  struct NamedOptimizer {
    std::string name;
    OptimizerOptions optimizer;
  };
  std::vector<NamedOptimizer> optimizers = {};
  std::vector<std::uint64_t> seeds = {0};
  /// For hybrid: the pair before which it becomes sequential. Replaces the learner's value. 0: the
  /// middle of the clip, so that it learns both ways in clips of any length.
  std::int64_t switch_at = 0;
  /// Frames per second of a camera that does not wait. The stages' times are simulated from
  /// `step_ms`, except with `real_time`. Empty: every pair waits for its turn.
  std::vector<double> camera_rates = {};
  /// The clock of that camera is this machine's. Stages take the time that they take here, on its
  /// cores. So drops and values depend on the machine, and on its other work. REQUIRES: one job,
  /// and no `step_ms`.
  bool real_time = false;
  /// The cost of one sample on one device: forward, backward and update of the whole network. Its
  /// distribution over the layers is measured. 0: measured as well.
  double step_ms = 0;
  /// Standard deviation of the logarithm of a simulated operation's time.
  double spread = 0.1;
  /// Tests the learned weights on the first and the last window of its clip and on `others`.
  bool frozen = true;
  /// Some of ReferenceFlowNames(). For the next frame only "none", which repeats the newest
  /// picture.
  std::vector<std::string> references = {"none", "dis", "farneback"};
  std::chrono::nanoseconds window = std::chrono::seconds(60);
  /// Number of parallel runs.
  int jobs = 1;
  /// Has results of an earlier evaluation, which are not repeated, and keeps new ones. nullptr:
  /// every run is made. Outlives the evaluation.
  FlowResultStore* store = nullptr;
  /// Called with the number of completed pairs, learned or reference, and the number of all pairs.
  /// From several threads. May be empty.
  std::function<void(std::int64_t done, std::int64_t all)> on_progress = {};
  std::stop_token stop = {};
};

/// Runs all combinations. All seeds and rates of a network share the cuts, also with runs of the
/// store. The values depend on
/// these and on a run's name. Behind a camera, and for interleaved, they also depend on
/// measurements. They do not depend on timing, except in real time and after a roll-back. Fails
/// with INVALID_ARGUMENT on invalid options, before any run. Later it fails with the first failure,
/// or with CANCELLED after a stop request. REQUIRES: one clip, or one for each seed.
[[nodiscard]] absl::StatusOr<FlowEvaluation> EvaluateFlow(const FlowEvaluationOptions& options);

}  // namespace millrace::pipeline
