#include "pipeline/evaluation/flow_run.h"

#include <algorithm>
#include <memory>
#include <thread>
#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "base/mutex.h"
#include "base/status.h"
#include "pipeline/evaluation/newest_flow.h"

namespace millrace::pipeline {
namespace {

struct MadePrediction {
  ModelPrediction prediction;
  nanoseconds made_at;
};

// Hands predictions from the learner's thread to the scoring thread. Thread-safe.
class Predictions {
 public:
  explicit Predictions(const Clock& clock) : clock_(clock) {}

  void Push(ModelPrediction prediction) ABSL_LOCKS_EXCLUDED(mu_) {
    const MutexLock lock(mu_);
    made_.push_back({std::move(prediction), clock_.Now()});
  }

  [[nodiscard]] std::vector<MadePrediction> Take() ABSL_LOCKS_EXCLUDED(mu_) {
    const MutexLock lock(mu_);
    return std::exchange(made_, {});
  }

 private:
  const Clock& clock_;
  Mutex mu_;
  std::vector<MadePrediction> made_ ABSL_GUARDED_BY(mu_);
};

void SleepFor(nanoseconds time) { std::this_thread::sleep_for(time); }

double Ms(nanoseconds time) { return std::chrono::duration<double, std::milli>(time).count(); }

Sample PicturesOf(const ClipPair& pair) {
  Sample pictures{.previous = *pair.previous, .current = *pair.current};
  if (pair.before != nullptr) pictures.before = *pair.before;
  return pictures;
}

void Score(const ClipPair& pair, const ModelPrediction& made, StreamScorer& scorer) {
  const bool learned = made.skipped == SkipReason::kNone;
  if (pair.before == nullptr) {
    scorer.Add(pair, *made.flow, learned);
  } else {
    scorer.AddLosses(pair, {.loss = made.loss, .loss_no_motion = made.loss_no_motion}, learned);
  }
}

class FlowRun {
 public:
  explicit FlowRun(const FlowRunOptions& options)
      : options_(options),
        model_(options.window, options.clip.width, options.clip.height, options.reference_losses),
        made_(*options.clock) {
    const bool is_paced = IsPaced();
    if (!options.camera && !is_paced) return;
    MILLRACE_CHECK(!options.clip.with_before && !(options.camera && is_paced));
    const double interval = is_paced ? Ms(options.paced_interval) : options.camera_interval;
    const std::size_t values = std::size_t{2} * options.clip.width * options.clip.height;
    streaming_.emplace(interval, std::make_shared<const std::vector<float>>(values),
                       StreamScorer(options.window, options.clip.width, options.clip.height,
                                    options.reference_losses));
  }

  absl::StatusOr<FlowRunResult> Run() {
    MILLRACE_ASSIGN_OR_RETURN(
        learner_, options_.make([this](ModelPrediction made) { made_.Push(std::move(made)); }));
    MILLRACE_RETURN_IF_ERROR(options_.learns && IsPaced() ? LearnPaced() : Learn());
    MILLRACE_RETURN_IF_ERROR(TestFrozen());
    MILLRACE_RETURN_IF_ERROR(learner_->Drain());
    ScoreWhatIsMade();
    return Result();
  }

 private:
  absl::Status Learn() {
    MILLRACE_ASSIGN_OR_RETURN(const std::unique_ptr<Clip> clip, options_.clip.open());
    for (;;) {
      MILLRACE_ASSIGN_OR_RETURN(std::optional<ClipPair> pair, Next(*clip));
      if (!pair) break;
      times_.push_back(pair->stream_time);
      if (!options_.learns) continue;
      if (options_.on_pair) options_.on_pair();
      if (streaming_) streaming_->AddPair(*pair);
      if (IsDropped(pair->number)) {
        ++result_.dropped;
      } else {
        MILLRACE_RETURN_IF_ERROR(learner_->AwaitRoom());
        MILLRACE_RETURN_IF_ERROR(Admit(*std::move(pair), nullptr));
      }
      ScoreWhatIsMade();
    }
    if (times_.empty()) return NoPairs(options_.clip);
    result_.pairs = static_cast<std::int64_t>(times_.size());
    return absl::OkStatus();
  }

  [[nodiscard]] bool IsPaced() const { return options_.paced_interval > nanoseconds(0); }

  absl::Status LearnPaced() {
    MILLRACE_ASSIGN_OR_RETURN(std::vector<ClipPair> pairs, ReadAll());
    result_.pairs = static_cast<std::int64_t>(pairs.size());
    PacedCamera camera(result_.pairs, options_.paced_interval, *options_.clock,
                       options_.sleep ? options_.sleep : SleepFor);
    camera_start_ = camera.start();
    for (std::int64_t next = 0;;) {
      MILLRACE_RETURN_IF_ERROR(learner_->AwaitRoom());
      const std::optional<std::int64_t> newest = camera.TakeNewest(options_.stop);
      if (!newest) break;
      result_.dropped += *newest - next;
      for (; next <= *newest; ++next) {
        if (options_.on_pair) options_.on_pair();
      }
      MILLRACE_RETURN_IF_ERROR(Admit(pairs[*newest], nullptr));
    }
    if (options_.stop.stop_requested()) return absl::CancelledError("asked to end");
    for (ClipPair& pair : pairs) streaming_->AddPair(std::move(pair));
    ScoreWhatIsMade();
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<ClipPair>> ReadAll() {
    MILLRACE_ASSIGN_OR_RETURN(const std::unique_ptr<Clip> clip, options_.clip.open());
    std::vector<ClipPair> pairs;
    for (;;) {
      MILLRACE_ASSIGN_OR_RETURN(std::optional<ClipPair> pair, Next(*clip));
      if (!pair) break;
      times_.push_back(pair->stream_time);
      pairs.push_back(*std::move(pair));
    }
    if (pairs.empty()) return NoPairs(options_.clip);
    return pairs;
  }

  // The learner does not learn from samples admitted from here on.
  absl::Status TestFrozen() {
    learner_->LearnFromEvery(0);
    tests_.reserve(options_.frozen.size());
    for (const FrozenTest& test : options_.frozen) {
      MILLRACE_CHECK(test.clip.width == options_.clip.width &&
                     test.clip.height == options_.clip.height &&
                     test.clip.with_before == options_.clip.with_before);
      tests_.emplace_back(options_.window, test.clip.width, test.clip.height);
      MILLRACE_RETURN_IF_ERROR(Test(test, tests_.back()));
    }
    return absl::OkStatus();
  }

  absl::Status Test(const FrozenTest& test, StreamScorer& scorer) {
    const bool first = test.part == FrozenTest::Part::kFirst;
    const ClipSource source = first ? FirstPart(test.clip, options_.window) : test.clip;
    MILLRACE_ASSIGN_OR_RETURN(const std::unique_ptr<Clip> clip, source.open());
    for (;;) {
      MILLRACE_ASSIGN_OR_RETURN(std::optional<ClipPair> pair, Next(*clip));
      if (!pair) return absl::OkStatus();
      if (!first && pair->stream_time <= times_.back() - options_.window) continue;
      MILLRACE_RETURN_IF_ERROR(Admit(*std::move(pair), &scorer));
      ScoreWhatIsMade();
    }
  }

  absl::StatusOr<std::optional<ClipPair>> Next(Clip& clip) const {
    if (options_.stop.stop_requested()) return absl::CancelledError("asked to end");
    return clip.Next();
  }

  [[nodiscard]] bool IsDropped(std::int64_t number) {
    if (!options_.camera) return false;
    const std::vector<LiveSample>& samples = *options_.camera;
    return admitted_ >= samples.size() || samples[admitted_].frame != number;
  }

  // `frozen`: the scorer of a frozen test; null: the learner learns from the pair. Learners roll
  // back weights in AwaitRoom(), which comes before, except in a test.
  absl::Status Admit(ClipPair pair, StreamScorer* frozen) {
    MILLRACE_ASSIGN_OR_RETURN(const std::int64_t sample, learner_->Admit(PicturesOf(pair)));
    InFlight in_flight{.pair = std::move(pair), .frozen = frozen};
    if (frozen == nullptr) {
      if (options_.camera) in_flight.there_at = (*options_.camera)[admitted_].predicted;
      ++admitted_;
    }
    in_flight_.emplace(sample, std::move(in_flight));
    return absl::OkStatus();
  }

  void ScoreWhatIsMade() {
    for (auto& [made, made_at] : made_.Take()) {
      // A prediction may be made before Admit() returns its number, but is taken afterwards.
      auto found = in_flight_.extract(made.sample);
      MILLRACE_CHECK(!found.empty());
      const InFlight& in_flight = found.mapped();
      Score(in_flight.pair, made, in_flight.frozen != nullptr ? *in_flight.frozen : model_);
      if (streaming_ && in_flight.frozen == nullptr) {
        const double there_at = IsPaced() ? Ms(made_at - camera_start_) : in_flight.there_at;
        streaming_->AddFlow(there_at, std::move(made.flow), made.skipped == SkipReason::kNone);
      }
    }
  }

  FlowRunResult Result() {
    result_.model = std::move(model_).Finish();
    if (streaming_) result_.streaming = std::move(*streaming_).Finish();
    for (std::size_t i = 0; i < tests_.size(); ++i) {
      result_.frozen.push_back({.name = options_.frozen[i].name,
                                .scores = std::move(tests_[i]).Finish().whole,
                                .other = options_.frozen[i].other});
    }
    result_.updates = learner_->updates();
    result_.update_cosines = learner_->update_cosines();
    result_.learning = learner_->learning();
    result_.stages = learner_->description()->stages;
    return std::move(result_);
  }

  struct InFlight {
    ClipPair pair;
    StreamScorer* frozen = nullptr;
    double there_at = 0;
  };

  const FlowRunOptions& options_;
  StreamScorer model_;
  std::optional<NewestFlowScorer> streaming_;
  std::vector<StreamScorer> tests_;
  std::vector<std::chrono::nanoseconds> times_;  // The times of the clip's pairs.
  std::size_t admitted_ = 0;                     // Admitted pairs to learn from.
  nanoseconds camera_start_{0};                  // Of a paced camera.
  std::unordered_map<std::int64_t, InFlight> in_flight_;
  FlowRunResult result_;
  Predictions made_;
  std::unique_ptr<Learner> learner_;  // Last, because its threads use the members above.
};

}  // namespace

std::int64_t PacedBytes(const ClipSource& clip, const ClipPair& pair) {
  const std::int64_t pixels = std::int64_t{1} * clip.width * clip.height;
  std::int64_t bytes = pixels * (3 + 8 + 4);  // A picture, the flow and its uncertainty.
  if (pair.truth == nullptr) return bytes;
  const auto sizes = {pair.truth->flow.size() * sizeof(float), pair.truth->known.size(),
                      pair.truth->visible.size()};
  for (const std::size_t size : sizes) bytes += static_cast<std::int64_t>(size);
  return bytes;
}

absl::StatusOr<FlowRunResult> RunFlow(const FlowRunOptions& options) {
  return FlowRun(options).Run();
}

}  // namespace millrace::pipeline
