#include "pipeline/recovery/lasting_learning.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "pipeline/checkpoint/checkpoint_facts.h"
#include "pipeline/plan/plan.h"

namespace millrace::pipeline {
namespace {

// Another seed means another random sequence, to which this checkpoint does not belong. A
// checkpoint without a seed is from a version whose learning did not depend on it.
absl::Status CheckSeed(const Checkpoint& checkpoint, const std::string& folder,
                       std::uint64_t seed) {
  const std::optional<std::uint64_t> begun_with = ReadFacts(checkpoint.facts).seed;
  if (!begun_with || *begun_with == seed) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the checkpoint ", folder, " was begun with seed ", *begun_with, " where ", seed,
                   " is configured; configure that again, or another folder to start anew"));
}

absl::Status CheckFits(const Checkpoint& checkpoint, const std::string& folder,
                       const LastingLearning::Options& options) {
  MILLRACE_RETURN_IF_ERROR(CheckTask(checkpoint, folder, options.task));
  return CheckSeed(checkpoint, folder, options.seed);
}

}  // namespace

absl::Status CheckTask(const Checkpoint& checkpoint, const std::string& folder,
                       const std::string& task) {
  const std::string learned = ReadFacts(checkpoint.facts).task;
  if (learned.empty() || learned == task) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the checkpoint ", folder, " was learned for ", learned, " where this is ", task,
                   "; configure that again, or another folder to start anew"));
}

absl::Status LastingLearning::Try(const Options& options, const LayerChain& chain) {
  const CheckpointOptions& checkpoints = options.checkpoints;
  if (checkpoints.folder.empty()) return absl::OkStatus();
  MILLRACE_ASSIGN_OR_RETURN(
      const Checkpoints::Found found,
      Checkpoints::Find({.folder = checkpoints.folder, .keep = checkpoints.keep}, chain));
  return found.newest ? CheckFits(*found.newest, found.folder, options) : absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<LastingLearning>> LastingLearning::Open(Options options,
                                                                       const LayerChain& chain) {
  std::unique_ptr<LastingLearning> lasting(new LastingLearning(std::move(options)));
  if (!lasting->options_.checkpoints.folder.empty()) {
    MILLRACE_ASSIGN_OR_RETURN(
        lasting->checkpoints_,
        LearnerCheckpoints::Open(lasting->options_.checkpoints, lasting->options_.hooks, chain));
    lasting->newest_ = lasting->checkpoints_->TakeNewest();
    if (lasting->newest_) {
      MILLRACE_RETURN_IF_ERROR(
          CheckFits(*lasting->newest_, lasting->resumption().checkpoint, lasting->options_));
    }
  }
  return lasting;
}

const Resumption& LastingLearning::resumption() const {
  static const Resumption anew;
  return checkpoints_ != nullptr ? checkpoints_->resumption() : anew;
}

void LastingLearning::Begin(StagedNetwork& network) {
  network_ = &network;
  SafeLearning::Start start{
      .state = {.sample = resumption().first_sample - 1, .layers = network.Save()}};
  if (newest_) {
    start.origin = std::exchange(start.state, std::move(newest_->network));
    before_ = ReadFacts(newest_->facts).learning;
    start.rate_scale = before_.rate_scale;
    network.Restore(start.state.layers);
    network.ScaleLearningRates(start.rate_scale);
    newest_.reset();
  }
  safe_ = std::make_unique<SafeLearning>(
      SafeLearning::Options{.divergence = options_.divergence,
                            .copy_every = options_.copy_every,
                            .on_good = [this](const GoodState& good) { Keep(good); }},
      std::move(start));
}

LearningFigures LastingLearning::figures() const {
  const LearningCounts& counts = safe_->counts();
  return {.roll_backs = counts.roll_backs,
          .drifts = counts.drifts,
          .gradients_not_finite = network_->gradients_not_finite(),
          .rate_scale = counts.rate_scale,
          .checkpoints = checkpoints_ != nullptr ? checkpoints_->figures() : CheckpointFigures()};
}

absl::StatusOr<std::int64_t> LastingLearning::AskForCheckpoint() {
  if (checkpoints_ == nullptr) {
    return absl::FailedPreconditionError(
        "the model keeps no checkpoints; set checkpoints.folder to keep some");
  }
  return checkpoints_->WantOne();
}

void LastingLearning::Finish(bool finished) {
  if (checkpoints_ == nullptr) return;
  std::optional<GoodState> last = safe_->Last(*network_, finished);
  checkpoints_->Finish(last ? std::optional(CheckpointOf(*std::move(last))) : std::nullopt);
}

// On a stage's thread.
void LastingLearning::Keep(const GoodState& good) {
  if (checkpoints_ == nullptr || !checkpoints_->IsDue(good.state.sample)) return;
  checkpoints_->Offer(CheckpointOf(good));
}

Checkpoint LastingLearning::CheckpointOf(GoodState kept) const {
  const Plan& plan = network_->plan();
  CheckpointFacts facts{.task = options_.task,
                        .seed = options_.seed,
                        .schedule = plan.schedule,
                        .samples_per_pattern = plan.samples_per_pattern,
                        .pattern = PatternText(plan),
                        .learning = figures(),
                        .position = resumption().position};
  // If learning gave up, the next process tries again with the remaining share.
  facts.learning.rate_scale = safe_->rate_share();
  facts.learning.roll_backs += before_.roll_backs;
  facts.learning.drifts += before_.drifts;
  if (options_.hooks.position) facts.position = options_.hooks.position();
  return {.network = std::move(kept.state),
          .cuts = network_->cuts(),
          .score = kept.ratio,
          .facts = WriteFacts(facts)};
}

}  // namespace millrace::pipeline
