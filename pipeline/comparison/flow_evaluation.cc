#include "pipeline/comparison/flow_evaluation.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <memory>
#include <set>
#include <span>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/check.h"
#include "base/exception_to_status.h"
#include "base/foreign_error.h"
#include "base/mutex.h"
#include "base/plural.h"
#include "base/status.h"
#include "pipeline/classical/reference_flow.h"
#include "pipeline/comparison/pseudo_truth.h"
#include "pipeline/evaluation/pictures.h"
#include "pipeline/evaluation/retention.h"
#include "pipeline/flow/flow_learner.h"
#include "pipeline/flow/flow_options.h"
#include "pipeline/flow/flow_plan.h"
#include "pipeline/models/named_flow_network.h"
#include "pipeline/nn/weights_file.h"
#include "pipeline/schedules/schedules.h"

namespace millrace::pipeline {
namespace {

// The common part of all runs of a network under a schedule: cuts and costs.
struct PlannedNetwork {
  LearnerOptions learner;
  FlowTaskOptions task;
  Plan plan;
  std::vector<StageCost> costs;  // In milliseconds.
};

struct PlannedRun {
  FlowRunName name;
  OptimizerOptions optimizer;
  std::size_t clip = 0;
  std::string weights;
  std::optional<FlowEvaluation::Run> kept = {};        // Of an earlier evaluation.
  std::shared_ptr<const PlannedNetwork> network = {};  // Null if no run of it is left.
};

struct PlannedReference {
  std::string name;
  std::size_t clip = 0;
  std::optional<FlowEvaluation::Reference> kept = {};
};

// Counts the completed work of all runs.
class Progress {
 public:
  explicit Progress(const FlowEvaluationOptions& options) : options_(options) {}

  void Expect(std::int64_t pairs) { all_ = pairs; }
  void PairDone() {
    const std::int64_t done = ++done_;
    if (options_.on_progress) options_.on_progress(done, std::max(done, all_.load()));
  }

 private:
  const FlowEvaluationOptions& options_;
  std::atomic<std::int64_t> done_ = 0;
  std::atomic<std::int64_t> all_ = 0;
};

bool Combine(const std::string& network, const std::string& schedule) {
  return schedule != "local" || network == "levels";
}

// For the next frame, learners compute the scores themselves, on pictures in their networks'
// format.
absl::Status CheckChannels(const std::vector<std::string>& networks) {
  MILLRACE_ASSIGN_OR_RETURN(const FlowNetworkInput first, FlowNetworkInputOf(networks.front()));
  for (const std::string& network : networks) {
    MILLRACE_ASSIGN_OR_RETURN(const FlowNetworkInput input, FlowNetworkInputOf(network));
    if (input.channels == first.channels) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("of the networks ", networks.front(), " and ", network,
                     " one foretells grey pictures and the other colours: evaluate them apart"));
  }
  return absl::OkStatus();
}

absl::Status CheckWeights(const FlowEvaluationOptions& options) {
  const std::size_t files = options.weights.size();
  if (files <= 1 || files == options.seeds.size()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(files, " files of weights for ",
                                                 Plural(options.seeds.size(), "seed"),
                                                 ": name one for all, or one for each"));
}

// The next frame is predicted from two pictures and scored on a third. The other methods read the
// third picture, which it must not see. The newest prediction at every instant is not defined for
// it.
absl::Status CheckTask(const FlowEvaluationOptions& options) {
  if (!options.task.next_frame) return absl::OkStatus();
  if (!options.camera_rates.empty()) {
    return absl::InvalidArgumentError(
        "the next frame is not evaluated behind a camera: leave out the camera's rates");
  }
  if (options.task.loss.occlusion) {
    return absl::InvalidArgumentError(
        "the next frame is not learned with occlusion, which needs the flow there and back of one "
        "pair: leave it out");
  }
  MILLRACE_RETURN_IF_ERROR(CheckChannels(options.networks));
  for (const std::string& name : options.references) {
    if (name == "none") continue;
    return absl::InvalidArgumentError(
        absl::StrCat("the reference ", name,
                     " says how things moved and foretells no frame: leave it out; none, the "
                     "newest picture again, can stay"));
  }
  return absl::OkStatus();
}

absl::Status CheckRealTime(const FlowEvaluationOptions& options) {
  if (!options.real_time) return absl::OkStatus();
  if (options.camera_rates.empty()) {
    return absl::InvalidArgumentError(
        "real time is that of a camera that does not wait: name the camera's rates");
  }
  if (options.jobs > 1) {
    return absl::InvalidArgumentError(
        "in real time a run has the machine for itself: run one job at a time");
  }
  if (options.step_ms > 0) {
    return absl::InvalidArgumentError(
        "in real time a sample takes the time that it takes: leave out the cost of a step");
  }
  return absl::OkStatus();
}

FlowEvaluationOptions InThrees(FlowEvaluationOptions options) {
  for (std::vector<ClipSource>* const sources : {&options.clips, &options.others}) {
    for (ClipSource& source : *sources) source = WithPictureBefore(std::move(source));
  }
  return options;
}

// Returns the photometric loss. For the next frame, the only method is no motion.
double ScoreReference(const ClipSource& source, const ClipPair& pair, ReferenceFlow& method,
                      StreamScorer& scorer) {
  if (!source.with_before) {
    return scorer.Add(pair, method.Flow(*pair.previous, *pair.current), /*learned_from=*/false);
  }
  const PairOfPictures pictures(*pair.previous, *pair.current, source.width, source.height);
  const double loss = pictures.LossOfNoMotion();
  scorer.AddLosses(pair, {.loss = loss, .loss_no_motion = loss}, /*learned_from=*/false);
  return loss;
}

// Whether two runs of a network have the same cuts, and behind a camera the same costs.
bool AreComparable(const FlowEvaluation::Run& a, const FlowEvaluation::Run& b) {
  return a.cuts == b.cuts && (b.name.camera_rate == 0 || a.costs == b.costs);
}

class FlowEvaluating {
 public:
  explicit FlowEvaluating(const FlowEvaluationOptions& options)
      : options_(options), clips_(options.clips), progress_(options) {
    MILLRACE_CHECK(options.clips.size() == 1 || options.clips.size() == options.seeds.size());
  }

  absl::StatusOr<FlowEvaluation> Run() {
    MILLRACE_RETURN_IF_ERROR(CheckTask(options_));
    MILLRACE_RETURN_IF_ERROR(CheckRealTime(options_));
    MILLRACE_RETURN_IF_ERROR(CheckWeights(options_));
    evaluation_.next_frame = options_.task.next_frame;
    evaluation_.pseudo_truth = options_.pseudo_truth;
    evaluation_.real_time = options_.real_time;
    MILLRACE_RETURN_IF_ERROR(CheckReferences());
    MILLRACE_RETURN_IF_ERROR(Plan());
    PlanReferences();
    MILLRACE_RETURN_IF_ERROR(CountPairs());
    if (options_.pseudo_truth && IsAnythingLeft()) MILLRACE_RETURN_IF_ERROR(FindPseudoTruth());
    for (PlannedReference& reference : references_) {
      MILLRACE_RETURN_IF_ERROR(Refer(reference));
    }
    MILLRACE_RETURN_IF_ERROR(RunAll());
    return std::move(evaluation_);
  }

 private:
  [[nodiscard]] absl::Status CheckReferences() const {
    const ClipSource& clip = clips_.front();
    for (const std::string& name : options_.references) {
      MILLRACE_RETURN_IF_ERROR(MakeReferenceFlow(name, clip.width, clip.height).status());
    }
    return absl::OkStatus();
  }

  absl::Status Plan() {
    for (const std::string& network : options_.networks) {
      for (const std::string& schedule : options_.schedules) {
        if (!Combine(network, schedule)) continue;
        const std::vector<int> one = {1};
        for (const int stages : schedule == "sequential" ? one : options_.stages) {
          MILLRACE_RETURN_IF_ERROR(PlanOne(network, schedule, stages));
        }
      }
    }
    if (!runs_.empty()) return CheckDistinct();
    return absl::InvalidArgumentError(
        "nothing to run: the schedule local needs the network levels, whose levels learn from "
        "losses of their own");
  }

  [[nodiscard]] absl::Status CheckDistinct() const {
    std::set<std::pair<std::string, std::uint64_t>> names;
    for (const PlannedRun& run : runs_) {
      if (names.emplace(run.name.Text(), run.name.seed).second) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "the run ", run.name.Text(),
          " is there twice: name each network, schedule, number of stages and camera rate once"));
    }
    return absl::OkStatus();
  }

  absl::Status PlanOne(const std::string& network, const std::string& schedule, int stages) {
    std::vector<PlannedRun> runs;
    const std::vector<FlowEvaluationOptions::NamedOptimizer> own = {
        {"", options_.learner.optimizer}};
    for (const auto& [name, optimizer] : options_.optimizers.empty() ? own : options_.optimizers) {
      AddRuns({.network = network, .schedule = schedule, .stages = stages, .optimizer = name},
              optimizer, runs);
    }
    const FlowEvaluation::Run* like = nullptr;
    bool is_any_left = false;
    for (PlannedRun& run : runs) {
      if (run.kept && like == nullptr) like = &*run.kept;
      if (run.kept && !AreComparable(*like, *run.kept)) run.kept.reset();
      is_any_left = is_any_left || !run.kept;
    }
    if (is_any_left) {
      MILLRACE_ASSIGN_OR_RETURN(const auto planned, PlanNetwork(network, schedule, stages, like));
      for (PlannedRun& run : runs) run.network = planned;
    }
    std::ranges::move(runs, std::back_inserter(runs_));
    return absl::OkStatus();
  }

  // With the cuts and costs of `like`, if it is not null. Else they are measured.
  absl::StatusOr<std::shared_ptr<const PlannedNetwork>> PlanNetwork(
      const std::string& network, const std::string& schedule, int stages,
      const FlowEvaluation::Run* like) const {
    auto planned = std::make_shared<PlannedNetwork>();
    LearnerOptions& learner = planned->learner;
    learner = options_.learner;
    if (!options_.optimizers.empty()) learner.optimizer = options_.optimizers.front().optimizer;
    planned->task = options_.task;
    planned->task.network = network;
    planned->task.loss.smoothness = options_.SmoothnessOf(network);
    learner.schedule = schedule;
    learner.stages = stages;
    learner.width = clips_.front().width;
    learner.height = clips_.front().height;
    learner.weights = WeightsOf(0);
    if (like != nullptr) learner.cuts = like->cuts;
    const bool groups = schedule == "one_f_one_b_star" || schedule == "one_f_one_b_one_w";
    if (groups && learner.request.period == 0) learner.request.period = kEachStageAGroup;
    MILLRACE_ASSIGN_OR_RETURN(PlannedFlow flow, PlanFlow(learner, planned->task, options_.stop));
    for (std::size_t i = 1; i < options_.weights.size(); ++i) {
      MILLRACE_RETURN_IF_ERROR(LoadWeights(options_.weights[i], *flow.chain));  // Only checks that
                                                                                // the weights fit.
    }
    PlannedChain& chain = flow.network;
    if (chain.phases.size() > 1 && !options_.camera_rates.empty() && !options_.real_time) {
      return absl::InvalidArgumentError(
          absl::StrCat("the schedule ", schedule,
                       " changes on its way and cannot run behind a camera on paper; "
                       "leave it out, leave out the camera's rates, or run in real time"));
    }
    learner.cuts = chain.cuts;
    planned->plan = chain.phases.front().plan;
    planned->costs = std::move(chain.costs);
    if (like != nullptr) {
      planned->costs = like->costs;
    } else if (options_.step_ms > 0) {
      ScaleTo(options_.step_ms, planned->costs);
    }
    return planned;
  }

  // A run for each camera rate and seed.
  void AddRuns(FlowRunName name, const OptimizerOptions& optimizer,
               std::vector<PlannedRun>& runs) const {
    const std::vector<double> no_camera = {0};
    for (const double rate : options_.camera_rates.empty() ? no_camera : options_.camera_rates) {
      name.camera_rate = rate;
      for (std::size_t i = 0; i < options_.seeds.size(); ++i) {
        name.seed = options_.seeds[i];
        runs.push_back({.name = name,
                        .optimizer = optimizer,
                        .clip = clips_.size() > 1 ? i : 0,
                        .weights = WeightsOf(i)});
        if (options_.store != nullptr) runs.back().kept = options_.store->FindRun(name);
      }
    }
  }

  void PlanReferences() {
    for (const std::string& name : options_.references) {
      for (std::size_t clip = 0; clip < clips_.size(); ++clip) {
        references_.push_back({.name = name, .clip = clip});
        if (options_.store == nullptr) continue;
        references_.back().kept = options_.store->FindReference(name, clip);
      }
    }
  }

  [[nodiscard]] bool IsAnythingLeft() const {
    const auto is_left = [](const auto& planned) { return !planned.kept.has_value(); };
    return std::ranges::any_of(runs_, is_left) || std::ranges::any_of(references_, is_left);
  }

  // The weights file of the seed at this index. Empty: random weights.
  [[nodiscard]] std::string WeightsOf(std::size_t seed) const {
    if (options_.weights.empty()) return "";
    return options_.weights[options_.weights.size() > 1 ? seed : 0];
  }

  static void ScaleTo(double step_ms, std::vector<StageCost>& costs) {
    const double scale = step_ms / TotalOf(costs);
    for (StageCost& cost : costs) {
      cost.forward *= scale;
      cost.backward *= scale;
      cost.update *= scale;
      cost.weight_gradient *= scale;
    }
  }

  // Reads the clips through once, so that unreadable files are reported before any learning.
  absl::Status CountPairs() {
    std::int64_t all = 0;
    std::vector<std::int64_t> learned;  // Of each clip.
    for (const ClipSource& source : clips_) {
      MILLRACE_ASSIGN_OR_RETURN(const std::int64_t pairs, PairsOf(source));
      if (pairs == 0) return NoPairs(source);
      evaluation_.pairs.push_back(pairs);
      MILLRACE_ASSIGN_OR_RETURN(learned.emplace_back(), LearnedPairs(source, pairs));
      if (options_.pseudo_truth && IsAnythingLeft()) all += pairs;
    }
    for (const PlannedReference& reference : references_) {
      if (!reference.kept) all += evaluation_.pairs[reference.clip];
    }
    for (const PlannedRun& run : runs_) {
      if (!run.kept) all += learned[run.clip];
    }
    progress_.Expect(all);
    return absl::OkStatus();
  }

  // The learned pairs of a clip with `pairs` pairs. A frozen test learns the first window again.
  [[nodiscard]] absl::StatusOr<std::int64_t> LearnedPairs(const ClipSource& source,
                                                          std::int64_t pairs) const {
    if (!options_.frozen) return pairs;
    MILLRACE_ASSIGN_OR_RETURN(const std::int64_t first,
                              PairsOf(FirstPart(source, options_.window)));
    return first < pairs ? pairs + first : pairs;
  }

  [[nodiscard]] absl::StatusOr<std::int64_t> PairsOf(const ClipSource& source) const {
    constexpr std::int64_t kMaxBytes = 4'000'000'000;
    MILLRACE_ASSIGN_OR_RETURN(const std::unique_ptr<Clip> clip, source.open());
    std::int64_t bytes = 0;
    for (std::int64_t pairs = 0;; ++pairs) {
      if (options_.stop.stop_requested()) return absl::CancelledError("asked to end");
      MILLRACE_ASSIGN_OR_RETURN(const std::optional<ClipPair> pair, clip->Next());
      if (!pair) return pairs;
      bytes += options_.real_time ? PacedBytes(source, *pair) : 0;
      if (bytes <= kMaxBytes) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("in real time all pairs are kept in memory, and more than ", pairs, " of ",
                       source.name, " take over 4 GB: evaluate ", pairs, " pairs or fewer"));
    }
  }

  absl::Status FindPseudoTruth() {
    for (std::size_t i = 0; i < clips_.size(); ++i) {
      MILLRACE_RETURN_IF_ERROR(CheckPseudoTruthFits(clips_[i], evaluation_.pairs[i]));
    }
    for (ClipSource& clip : clips_) {
      MILLRACE_ASSIGN_OR_RETURN(
          clip, WithPseudoTruth(
                    std::move(clip), [this] { progress_.PairDone(); }, options_.stop));
    }
    return absl::OkStatus();
  }

  absl::Status Refer(PlannedReference& planned) {
    if (planned.kept) {
      evaluation_.references.push_back(*std::move(planned.kept));
      return absl::OkStatus();
    }
    const ClipSource& source = clips_[planned.clip];
    MILLRACE_ASSIGN_OR_RETURN(const auto method,
                              MakeReferenceFlow(planned.name, source.width, source.height));
    MILLRACE_ASSIGN_OR_RETURN(const std::unique_ptr<Clip> clip, source.open());
    StreamScorer scorer(options_.window, source.width, source.height);
    FlowEvaluation::Reference made{.name = planned.name, .clip = planned.clip, .scores = {}};
    for (;;) {
      if (options_.stop.stop_requested()) return absl::CancelledError("asked to end");
      MILLRACE_ASSIGN_OR_RETURN(const std::optional<ClipPair> pair, clip->Next());
      if (!pair) break;
      made.losses.push_back(ScoreReference(source, *pair, *method, scorer));
      progress_.PairDone();
    }
    made.scores = std::move(scorer).Finish();
    if (options_.store != nullptr) MILLRACE_RETURN_IF_ERROR(options_.store->Keep(made));
    evaluation_.references.push_back(std::move(made));
    return absl::OkStatus();
  }

  // The losses of the gain's reference on this clip; empty without that reference.
  [[nodiscard]] std::span<const double> ReferenceLosses(std::size_t clip) const {
    for (const FlowEvaluation::Reference& reference : evaluation_.references) {
      if (reference.name == kGainReference && reference.clip == clip) return reference.losses;
    }
    return {};
  }

  absl::Status RunAll() ABSL_LOCKS_EXCLUDED(mu_) {
    evaluation_.runs.resize(runs_.size());
    {
      std::vector<std::jthread> workers;
      for (int i = 0; i < std::max(1, options_.jobs); ++i) {
        workers.emplace_back([this] { Work(); });
      }
    }
    const MutexLock lock(mu_);
    return failure_;
  }

  void Work() ABSL_LOCKS_EXCLUDED(mu_) {
    while (!failed_) {
      const std::size_t next = next_++;
      if (next >= runs_.size()) return;
      absl::StatusOr<FlowEvaluation::Run> run = Guarded(runs_[next]);
      if (run.ok()) {
        evaluation_.runs[next] = *std::move(run);
        continue;
      }
      failed_ = true;
      const MutexLock lock(mu_);
      if (failure_.ok()) {
        failure_ = absl::Status(
            run.status().code(),
            absl::StrCat(runs_[next].name.Text(), ": ", std::string(run.status().message())));
      }
    }
  }

  absl::StatusOr<FlowEvaluation::Run> Guarded(const PlannedRun& planned) {
    return ExceptionToStatus([&] { return RunOne(planned); }, InternalCause);
  }

  absl::StatusOr<FlowEvaluation::Run> RunOne(const PlannedRun& planned) {
    if (planned.kept) return *planned.kept;
    LearnerOptions learner = planned.network->learner;
    learner.seed = planned.name.seed;
    learner.weights = planned.weights;
    learner.optimizer = planned.optimizer;
    learner.optimizer.measures_cosine = true;
    learner.request.switch_at = SwitchAt(evaluation_.pairs[planned.clip]);
    const ClipSource& clip = clips_[planned.clip];
    FlowRunOptions run{.clip = clip,
                       .make =
                           [&](OnPrediction on_prediction) {
                             return MakeFlowLearner(learner, planned.network->task,
                                                    std::move(on_prediction),
                                                    {.stop = options_.stop});
                           },
                       .window = options_.window,
                       .frozen = FrozenTests(clip),
                       .reference_losses = ReferenceLosses(planned.clip),
                       .on_pair = [this] { progress_.PairDone(); },
                       .stop = options_.stop};
    if (options_.real_time) {
      run.paced_interval = std::chrono::round<nanoseconds>(
          std::chrono::duration<double>(1 / planned.name.camera_rate));
    } else if (planned.name.camera_rate > 0) {
      run.camera_interval = 1000 / planned.name.camera_rate;
      MILLRACE_ASSIGN_OR_RETURN(
          run.camera,
          SimulateSamples(planned.network->plan, {.costs = planned.network->costs,
                                                  .interval = run.camera_interval,
                                                  .spread = options_.spread,
                                                  .frames = evaluation_.pairs[planned.clip],
                                                  .seed = planned.name.seed}));
    }
    MILLRACE_ASSIGN_OR_RETURN(FlowRunResult result, RunFlowAndCompare(run));
    FlowEvaluation::Run made{.name = planned.name,
                             .optimizer = planned.optimizer,
                             .cuts = learner.cuts,
                             .costs = planned.network->costs,
                             .result = std::move(result)};
    if (planned.name.schedule == "hybrid") made.switch_at = learner.request.switch_at;
    if (options_.store != nullptr) MILLRACE_RETURN_IF_ERROR(options_.store->Keep(made));
    return made;
  }

  // The switching pair of a clip with `pairs` pairs. A single pair has no middle.
  [[nodiscard]] std::int64_t SwitchAt(std::int64_t pairs) const {
    return options_.switch_at > 0 ? options_.switch_at : std::max<std::int64_t>(1, pairs / 2);
  }

  [[nodiscard]] std::vector<FrozenTest> FrozenTests(const ClipSource& clip) const {
    if (!options_.frozen) return {};
    std::vector<FrozenTest> tests = {
        {.name = "first", .clip = clip, .part = FrozenTest::Part::kFirst},
        {.name = "last", .clip = clip, .part = FrozenTest::Part::kLast}};
    for (const ClipSource& other : options_.others) {
      tests.push_back(
          {.name = other.name, .clip = other, .part = FrozenTest::Part::kFirst, .other = true});
    }
    return tests;
  }

  // The reference of the gain.
  static constexpr std::string_view kGainReference = "dis";

  const FlowEvaluationOptions& options_;
  std::vector<ClipSource> clips_;
  Progress progress_;
  std::vector<PlannedRun> runs_;
  std::vector<PlannedReference> references_;
  FlowEvaluation evaluation_;  // Each run's element belongs to the thread of that run.

  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> failed_ = false;
  Mutex mu_;
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
};

}  // namespace

bool FlowRunName::SameButSeed(const FlowRunName& other) const {
  return network == other.network && schedule == other.schedule && stages == other.stages &&
         optimizer == other.optimizer && camera_rate == other.camera_rate;
}

std::string FlowRunName::Text() const {
  std::string text = absl::StrCat(network, " ", schedule);
  if (stages > 1) absl::StrAppend(&text, " x", stages);
  if (!optimizer.empty()) absl::StrAppend(&text, " ", optimizer);
  if (camera_rate > 0) absl::StrAppendFormat(&text, " at %g/s", camera_rate);
  return text;
}

absl::StatusOr<FlowEvaluation> EvaluateFlow(const FlowEvaluationOptions& options) {
  if (!options.task.next_frame) return FlowEvaluating(options).Run();
  const FlowEvaluationOptions in_threes = InThrees(options);
  return FlowEvaluating(in_threes).Run();
}

}  // namespace millrace::pipeline
