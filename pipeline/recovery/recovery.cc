#include "pipeline/recovery/recovery.h"

#include <cmath>
#include <utility>

#include "base/status.h"
#include "pipeline/checkpoint/checkpoint_facts.h"
#include "pipeline/device/device_failure.h"
#include "pipeline/plan/plan.h"

namespace millrace::pipeline {
namespace {

// A limit for Snapshot::ratio. Above it, weights may serve a roll-back, but no model at all is
// better.
constexpr double kMaxCheckpointRatio = 1;

absl::Status CheckFits(const Checkpoint& checkpoint, const std::string& folder,
                       const Recovery::Options& options) {
  const CheckpointFacts facts = ReadFacts(checkpoint.facts);
  MILLRACE_RETURN_IF_ERROR(CheckTask(facts, folder, options.task));
  return CheckSeed(facts, folder, options.seed);
}

bool SameSizes(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  return std::ranges::equal(
      a, b, [](const at::Tensor& x, const at::Tensor& y) { return x.sizes() == y.sizes(); });
}

// Whether the optimizers keep as many numbers of each weight. Files of other programs may not.
bool KeepsTheSame(const NetworkState& a, const NetworkState& b) {
  return std::ranges::equal(a.layers, b.layers, [](const LayerState& x, const LayerState& y) {
    return std::ranges::equal(x.optimizer.of_parameters, y.optimizer.of_parameters, SameSizes);
  });
}

}  // namespace

absl::Status Recovery::Try(const Options& options, const LayerChain& chain) {
  const CheckpointOptions& checkpoints = options.checkpoints;
  if (checkpoints.folder.empty()) return absl::OkStatus();
  MILLRACE_ASSIGN_OR_RETURN(
      const Checkpoints::Found found,
      Checkpoints::Find({.folder = checkpoints.folder, .keep = checkpoints.keep}, chain));
  return found.newest ? CheckFits(*found.newest, found.folder, options) : absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Recovery>> Recovery::Open(const Options& options,
                                                         const LayerChain& chain) {
  std::unique_ptr<Recovery> recovery(new Recovery(options));
  if (options.checkpoints.folder.empty()) return recovery;
  MILLRACE_ASSIGN_OR_RETURN(recovery->writer_,
                            CheckpointWriter::Open(options.checkpoints, options.hooks, chain));
  recovery->newest_ = recovery->writer_->TakeNewest();
  recovery->resumption_ = recovery->writer_->resumption();
  if (const std::optional<Checkpoint>& newest = recovery->newest_) {
    MILLRACE_RETURN_IF_ERROR(CheckFits(*newest, recovery->resumption().checkpoint, options));
    const std::string optimizer = ReadFacts(newest->facts).optimizer;
    if (optimizer != options.optimizer) recovery->resumption_.other_optimizer = optimizer;
  }
  return recovery;
}

Recovery::Recovery(const Options& options)
    : options_(options),
      detector_(options.divergence),
      snapshots_(MaxUnproven(options.divergence.window, options.copy_every)),
      collector_(options.copy_every, [this](NetworkState state) { OnSnapshot(std::move(state)); }) {
}

void Recovery::Begin(StagedNetwork& network) {
  network_ = &network;
  NetworkState start{.sample = resumption().first_sample - 1, .layers = network.store().Save()};
  if (newest_) {
    origin_ = std::exchange(start, std::move(newest_->network));
    if (!resumption_.other_optimizer.empty() || !KeepsTheSame(start, *origin_)) {
      for (std::size_t i = 0; i < start.layers.size(); ++i) {
        start.layers[i].optimizer.of_parameters = origin_->layers[i].optimizer.of_parameters;
      }
    }
    before_ = ReadFacts(newest_->facts).learning;
    // Its roll-backs say nothing about the rate of another optimizer.
    if (!resumption_.other_optimizer.empty()) before_.rate_scale = 1;
    newest_.reset();
    network.store().Restore(start.layers);
    const MutexLock lock(rate_mu_);
    rate_ = RateBackoff(before_.rate_scale);
    rate_scale_ = before_.rate_scale;
    ApplyRate();
  }
  snapshots_.Reset(std::move(start));
}

void Recovery::OnSnapshot(NetworkState state) {
  // Updates cannot cause this (Optimizer::Step()), but a user's own layer may.
  if (!snapshots_.Add(std::move(state))) not_finite_ = true;
}

bool Recovery::OnScored(const Scored& scored) {
  last_sample_ = scored.sample;
  OnProven();
  if (scored.learned) OnLearned();
  if (!scored.ratio || !std::isfinite(*scored.ratio)) return false;
  const auto change = ratios_.Add(*scored.ratio);
  const bool drift = change && change->after > change->before;
  drifts_ += drift ? 1 : 0;
  return drift;
}

void Recovery::OnProven() {
  const std::int64_t proven = detector_.proven();
  if (std::exchange(proven_, proven) == proven) return;
  std::optional<Snapshot> good = snapshots_.Prove(proven, detector_.ratio());
  if (writer_ == nullptr || !good || good->ratio > kMaxCheckpointRatio) return;
  if (writer_->IsDue(good->state.sample)) writer_->Offer(CheckpointOf(*std::move(good)));
}

// The network's count covers the updates up to the sample before; those of this sample come later.
void Recovery::OnLearned() {
  ++learned_;
  const std::int64_t not_finite = network_->gradients_not_finite();
  skipped_ = std::exchange(gradients_not_finite_, not_finite) < not_finite ? skipped_ + 1 : 0;
  const MutexLock lock(rate_mu_);
  if (gave_up()) return;
  rate_scale_ = rate_.OnLearned();
  ApplyRate();
}

bool Recovery::RollBackIsDue() const {
  const bool diverged =
      detector_.diverged() || not_finite_ || skipped_ >= options_.divergence.max_refused;
  return diverged && !gave_up() && (learned_ > 0 || (origin_ && !snapshots_.any_proven()));
}

void Recovery::RollBack() {
  NetworkState good = snapshots_.Settle().state;
  if (!snapshots_.any_proven()) {
    // The resumed weights may be bad themselves. They get a second try only if the network has
    // learned from a sample since.
    if (origin_ && (went_back_to_start_ || learned_ == 0)) {
      good = *std::move(origin_);
      origin_.reset();
      snapshots_.Reset(good);
    }
    went_back_to_start_ = true;
  }
  Restore(good);
  {
    const MutexLock lock(rate_mu_);
    const double share = rate_.OnRollBack();
    rate_scale_ = rate_.exhausted() ? 0 : share;
    ApplyRate();
  }
  ++roll_backs_;
}

void Recovery::Restore(const NetworkState& good) {
  network_->store().Restore(good.layers);
  collector_.Restart();
  detector_.Restart();
  ratios_.Restart();
  learned_ = 0;
  not_finite_ = false;
  skipped_ = 0;
}

void Recovery::SetRateFactor(double factor) {
  const MutexLock lock(rate_mu_);
  rate_factor_ = factor;
  if (factor > 0) {
    const bool other = std::exchange(last_factor_, factor) != factor;
    if (gave_up()) rate_scale_ = rate_.Restart(/*whole=*/other);
  }
  ApplyRate();
}

void Recovery::OnOptimizer() {
  const MutexLock lock(rate_mu_);
  if (gave_up()) rate_scale_ = rate_.Restart(/*whole=*/true);
  ApplyRate();
}

double Recovery::rate_share() const {
  const MutexLock lock(rate_mu_);
  return rate_.scale();
}

void Recovery::ApplyRate() const { network_->ScaleLearningRates(rate_scale_ * rate_factor_); }

LearningFigures Recovery::figures() const {
  return {.roll_backs = roll_backs_,
          .drifts = drifts_,
          .gradients_not_finite = network_->gradients_not_finite(),
          .rate_scale = rate_scale_,
          .checkpoints = writer_ != nullptr ? writer_->figures() : CheckpointFigures()};
}

absl::StatusOr<std::int64_t> Recovery::AskForCheckpoint() {
  if (writer_ == nullptr) {
    return absl::FailedPreconditionError(
        "the model keeps no checkpoints; set checkpoints.folder to keep some");
  }
  return writer_->Request();
}

absl::Status Recovery::Finish(bool finished) {
  if (writer_ == nullptr) return absl::OkStatus();
  std::optional<Snapshot> last;
  const absl::Status copied = FailureToStatus([&] {
    last = Last(finished);
    return absl::OkStatus();
  });
  if (!copied.ok()) last = Last(/*finished=*/false);
  writer_->Finish(last ? std::optional(CheckpointOf(*std::move(last))) : std::nullopt);
  return copied;
}

// The current state if learning has `finished` and the weights are sound, otherwise the newest
// proven one. nullopt if it is worse than no model.
std::optional<Snapshot> Recovery::Last(bool finished) {
  if (finished && detector_.sound() && detector_.ratio() <= kMaxCheckpointRatio) {
    NetworkState last{.sample = last_sample_, .layers = network_->store().Save()};
    if (AllFinite(last)) return Snapshot{.state = std::move(last), .ratio = detector_.ratio()};
  }
  Snapshot good = snapshots_.Settle();
  return good.ratio <= kMaxCheckpointRatio ? std::optional(std::move(good)) : std::nullopt;
}

Checkpoint Recovery::CheckpointOf(Snapshot snapshot) const {
  const Plan& plan = network_->plan();
  CheckpointFacts facts{.task = options_.task,
                        .seed = options_.seed,
                        .optimizer = options_.optimizer,
                        .schedule = plan.schedule,
                        .samples_per_pattern = plan.samples_per_pattern,
                        .pattern = PatternText(plan),
                        .learning = figures(),
                        .position = resumption().position};
  // If learning gave up, the next process tries again with the remaining share.
  facts.learning.rate_scale = rate_share();
  facts.learning.roll_backs += before_.roll_backs;
  facts.learning.drifts += before_.drifts;
  if (options_.hooks.position) facts.position = options_.hooks.position();
  return {.network = std::move(snapshot.state),
          .cuts = network_->cuts(),
          .score = snapshot.ratio,
          .facts = WriteFacts(facts)};
}

}  // namespace millrace::pipeline
