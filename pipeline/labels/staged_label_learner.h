// A network that predicts, and learns classes or values from labels that a client sends by the
// sample's number: in time, late or never.
//
// Each step processes the window of the last W samples; a new sample takes the row of the oldest
// one. So two steps differ by one row, as schedules that mix neighbouring samples require (PARTIME,
// section V.D). A late label still teaches while its sample is in the window.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/decisions/late_labels.h"
#include "pipeline/labels/label_model.h"
#include "pipeline/labels/label_stage_loss.h"
#include "pipeline/labels/sample_window.h"
#include "pipeline/learner/label_task_options.h"
#include "pipeline/learner/learner.h"
#include "pipeline/learner/learner_hooks.h"
#include "pipeline/learner/learner_options.h"
#include "pipeline/plan/cuts.h"
#include "pipeline/plan/plan.h"
#include "pipeline/planner/layer_profile.h"
#include "pipeline/recovery/learner_ranks.h"
#include "pipeline/recovery/recovery.h"
#include "pipeline/recovery/snapshot_collector.h"
#include "pipeline/stages/learner_plan.h"
#include "pipeline/stages/network_run.h"
#include "pipeline/stages/newest_values.h"
#include "pipeline/stages/planned_chain.h"

namespace millrace::pipeline {

/// Copies of the network while it learns, for scores.
struct LabelCopies {
  /// Calls `on_copy` after every n samples, on a thread of the learner, which waits. 0: never.
  int every = 0;
  /// Called with the network as it was after all stages learned at step `sample`. `model` is
  /// borrowed for the call.
  std::function<void(std::int64_t sample, const LabelModel& model)> on_copy = {};
};

/// The learner of labels, cut into stages. It predicts every sample and learns at each step whose
/// window holds a label. LearnFromEvery(n) leaves every n-th of these steps, in which all labels of
/// the window teach. Beside pictures, it admits samples of any shape, for the
/// papers' experiments. AdmitSample() is for the thread that calls Admit(); the rest is as in
/// Learner.
class StagedLabelLearner final : public Learner {
 public:
  /// Builds the network, tries it, cuts it, plans and starts the workers. The same options, samples
  /// and labels give the same bits if each label arrives at the same step and no period is given.
  /// Without cuts, the layers are divided equally. Fails with INVALID_ARGUMENT or NOT_FOUND. Fails
  /// with FAILED_PRECONDITION if the checkpoints belong to another network or task or are in use.
  /// The message says what to do. Fails with CANCELLED once `hooks.stop` is requested. With stages
  /// on other ranks, fails also as LearnerRanks::Start(). REQUIRES then:
  /// LabelTaskOptions::divergence, and no LabelCopies.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<StagedLabelLearner>> Make(
      const LearnerOptions& options, const LabelTaskOptions& task, OnPrediction on_prediction,
      const LearnerHooks& hooks = {}, LabelCopies copies = {});

  /// The same for layers that were measured on this machine, in milliseconds. Without cuts, cuts
  /// them by cost. For schedule "auto", plans for the rate, and fails as PlanFor() does.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<StagedLabelLearner>> MakeMeasured(
      const LearnerOptions& options, const LabelTaskOptions& task, OnPrediction on_prediction,
      const LearnerHooks& hooks, const NetworkProfile& profile);

  absl::StatusOr<std::int64_t> Admit(const Sample& sample) override;
  /// Admits a sample of the task's shape. With a `label`, its first step already learns from it.
  /// INVALID_ARGUMENT if the number of values is wrong, a value is not finite, or the label does
  /// not fit. Otherwise as Admit().
  [[nodiscard]] absl::StatusOr<std::int64_t> AdmitSample(std::span<const float> values,
                                                         std::optional<SampleLabel> label = {});
  absl::Status AwaitRoom() override;
  absl::Status Label(std::int64_t sample, const SampleLabel& label) override;

  /// REQUIRES: no LabelCopies.
  absl::StatusOr<ModelPrediction> Predict(const Sample& sample) override;
  /// The current network's prediction for one sample, alone in its window. See Predict().
  [[nodiscard]] absl::StatusOr<ModelPrediction> PredictSample(std::span<const float> values);

  void LearnFromEvery(int n) override { plan_->LearnFromEvery(n); }
  void FollowRate(double frames_per_second) override { plan_->FollowRate(frames_per_second); }
  void Freeze(bool frozen) override;
  absl::Status SetLearningRate(double rate) override;
  absl::Status SetOptimizer(const OptimizerOptions& optimizer) override {
    return run_->SetOptimizer(optimizer);
  }
  [[nodiscard]] double learning_rate() const override {
    return rate_factor_ * options_.optimizer.learning_rate;
  }
  /// Sets the learning rate to `factor` times the configured one from the next updates on; 0
  /// freezes the weights. REQUIRES: LabelTaskOptions::divergence. Thread-safe.
  void ScaleLearningRate(double factor);

  /// REQUIRES: LabelTaskOptions::divergence.
  absl::StatusOr<std::int64_t> AskForCheckpoint() override;
  absl::Status Drain() override { return ranks_.Drain(); }

  /// The current network. REQUIRES: drained.
  [[nodiscard]] const LabelModel& Model();

  /// Unless the layers were measured, assumes that all cost the same.
  [[nodiscard]] std::shared_ptr<const LearnerDescription> description() const override {
    return plan_->description();
  }
  [[nodiscard]] std::vector<std::int64_t> updates() const override {
    return run_->network().updates();
  }
  [[nodiscard]] std::vector<StageTime> worked() const override { return ranks_.worked(); }
  /// Thread-safe.
  [[nodiscard]] LabelFigures figures() const { return labels_->figures(); }
  [[nodiscard]] LearningFigures learning() const override;
  [[nodiscard]] absl::Status interruption() const override { return ranks_.missing(); }
  [[nodiscard]] std::optional<RankFigures> ranks() const override { return ranks_.figures(); }
  [[nodiscard]] const Resumption& resumption() const override;
  [[nodiscard]] std::vector<PastOperation> OperationsSince(nanoseconds since) const override {
    return run_->history().Since(since);
  }

 private:
  struct Networks {
    LayerChain learning;
    LayerChain copied;
  };
  struct Extras {
    LabelCopies copies = {};
    NetworkProfile profile = {};  // Without layers: not measured.
  };

  static absl::StatusOr<std::unique_ptr<StagedLabelLearner>> MakeWith(const LearnerOptions& options,
                                                                      const LabelTaskOptions& task,
                                                                      OnPrediction on_prediction,
                                                                      const LearnerHooks& hooks,
                                                                      Extras extras);
  StagedLabelLearner(const LearnerOptions& options, const LabelTaskOptions& task,
                     const LearnerHooks& hooks, LabelCopies copies, Networks networks);

  [[nodiscard]] absl::Status Start(OnPrediction on_prediction, const NetworkProfile& profile);
  [[nodiscard]] absl::StatusOr<PlannedChain> PlanChain(const at::Tensor& first,
                                                       const NetworkProfile& profile) const;
  [[nodiscard]] absl::Status MakePlan(PlannedChain planned);
  [[nodiscard]] absl::Status StartRun(Cuts cuts, Phases phases, OnPrediction on_prediction);
  [[nodiscard]] StagedNetwork::Options NetworkOptions(Cuts cuts, const Plan& plan,
                                                      OnPrediction on_prediction);
  absl::Status AwaitRoomOfRun();
  [[nodiscard]] Recovery::Options RecoveryOptions(const DivergenceOptions& divergence) const;
  [[nodiscard]] OnPrediction Publisher(OnPrediction on_prediction);
  [[nodiscard]] OnLabelScore ScoreTaker();
  [[nodiscard]] absl::Status CheckPicture(const Sample& sample) const;
  [[nodiscard]] absl::Status CheckValues(std::span<const float> values) const;
  [[nodiscard]] std::vector<float> ValuesOf(const Sample& sample) const;
  [[nodiscard]] bool IsHeld() const;
  void ApplyRate() { ScaleLearningRate(frozen_ ? 0.0 : double{rate_factor_}); }

  // Constant after Start(), except their contents.
  const LearnerOptions options_;
  const LabelTaskOptions task_;
  const LearnerHooks hooks_;
  const LabelCopies on_copies_;
  const std::vector<std::int64_t> sample_shape_;
  const LayerChain chain_;
  std::unique_ptr<LearnerPlan> plan_;
  std::unique_ptr<LateLabels> labels_;
  std::unique_ptr<Recovery> recovery_;         // Null: diverged weights are not restored.
  std::unique_ptr<SnapshotCollector> copies_;  // Null: copies are off.
  LearnerRanks ranks_{options_, hooks_};

  // Self-synchronized.
  std::atomic<bool> frozen_ = false;
  std::atomic<double> rate_factor_ = 1;

  // For the admitting thread.
  SampleWindow window_;

  // For the stage that completes a copy: no later copy is complete before that stage continues. If
  // copies are off, newest_ guards its values.
  LabelModel copied_;
  NewestValues newest_;

  std::unique_ptr<NetworkRun> run_;  // Last: its workers use the members above.
};

}  // namespace millrace::pipeline
