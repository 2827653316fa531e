#include "pipeline/lasting_learning.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace millrace::pipeline {

absl::Status CheckTask(const Checkpoint& checkpoint, const std::string& folder,
                       const std::string& task) {
  const std::string learned = TaskOf(checkpoint.facts);
  if (learned.empty() || learned == task) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the checkpoint ", folder, " was learned for ", learned, " where this is ", task,
                   "; configure that again, or another folder to start anew"));
}

absl::StatusOr<std::unique_ptr<LastingLearning>> LastingLearning::Open(Options options,
                                                                       const LayerChain& chain) {
  std::unique_ptr<LastingLearning> lasting(new LastingLearning(std::move(options)));
  if (!lasting->options_.checkpoints.folder.empty()) {
    MILLRACE_ASSIGN_OR_RETURN(lasting->checkpoints_,
                              LearnerCheckpoints::Open(lasting->options_.checkpoints, chain));
    lasting->newest_ = lasting->checkpoints_->TakeNewest();
    if (lasting->newest_) {
      MILLRACE_RETURN_IF_ERROR(
          CheckTask(*lasting->newest_, lasting->resumption().checkpoint, lasting->options_.task));
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
    before_ = FiguresOf(newest_->facts);
    start.rate_scale = before_.rate_scale;
    network.Restore(start.state.layers);
    network.ScaleLearningRates(start.rate_scale);
    newest_.reset();
  }
  safe_ = std::make_unique<SafeLearning>(
      SafeLearning::Options{.divergence = options_.divergence,
                            .copy_every = options_.copy_every,
                            .on_good = [this](const NetworkState& good) { Keep(good); }},
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

void LastingLearning::Finish(bool finished) {
  if (checkpoints_ == nullptr) return;
  checkpoints_->Finish(CheckpointOf(safe_->Last(*network_, finished)));
}

// On a stage's thread.
void LastingLearning::Keep(const NetworkState& good) {
  if (checkpoints_ == nullptr || !checkpoints_->IsDue(good.sample)) return;
  checkpoints_->Offer(CheckpointOf(good));
}

Checkpoint LastingLearning::CheckpointOf(NetworkState state) const {
  LearningFigures learning = figures();
  learning.roll_backs += before_.roll_backs;
  learning.drifts += before_.drifts;
  Pipeline now = options_.pipeline();
  return {.network = std::move(state),
          .cuts = std::move(now.cuts),
          .score = safe_->ratio(),
          .facts = FactsOf(learning, now.schedule, options_.task)};
}

}  // namespace millrace::pipeline
