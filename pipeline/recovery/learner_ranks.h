// A learner's stages on other ranks, as its leader sees them. Each task's learner has one of these.
//
//   waiting for ranks ──▶ all have joined ──▶ learning ──▶ Drain()
//           ▲                                     │
//           └── one is lost: good weights again ◀─┘
//
// Run, network and recovery stay the same meanwhile, and so do the numbers of the samples.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "pipeline/learner/learner_description.h"
#include "pipeline/learner/learner_hooks.h"
#include "pipeline/learner/learner_options.h"
#include "pipeline/learner/optimizer_options.h"
#include "pipeline/plan/plan.h"
#include "pipeline/plan/stage_time.h"
#include "pipeline/ranks/rank_task.h"
#include "pipeline/ranks/rank_work.h"
#include "pipeline/recovery/recovery.h"
#include "pipeline/stages/learner_plan.h"
#include "pipeline/stages/network_run.h"
#include "pipeline/stages/tensor_message.h"
#include "pipeline/wires/absent_wires.h"
#include "pipeline/wires/gathered_ranks.h"
#include "pipeline/wires/rank_figures.h"
#include "pipeline/wires/rank_group.h"

namespace millrace::pipeline {

/// Fails with INVALID_ARGUMENT, saying what to do, if several ranks cannot run these options.
[[nodiscard]] absl::Status CheckRankOptions(const LearnerOptions& options);

/// If this process runs all stages, it only starts, changes and ends the run. For the thread that
/// admits samples, except where noted.
class LearnerRanks {
 public:
  /// The arguments outlive it.
  LearnerRanks(const LearnerOptions& options, const LearnerHooks& hooks)
      : options_(options), join_(hooks.join_ranks) {}

  LearnerRanks(const LearnerRanks&) = delete;
  LearnerRanks& operator=(const LearnerRanks&) = delete;

  struct Options {
    /// As for one process. Start() makes it this rank's part.
    NetworkRun::Options run;
    /// Outlives the run. Null: the learned state is not protected. Other ranks need it.
    Recovery* recovery = nullptr;
    /// Outlives the run.
    LearnerPlan* plan = nullptr;
    /// How the other ranks make the network: RankTask::flow or RankTask::labels.
    RankTask network = {};
    /// The path of the network's file. Empty: the network is a built-in one.
    std::string file = {};
  };
  /// Starts the run. With other ranks, it starts suspended, and begins to gather them. Destroy the
  /// run before this object. Fails as NetworkRun::Start() and ReadTorchScript(). With other ranks,
  /// fails also as CheckRanks(), and with FAILED_PRECONDITION without LearnerHooks::join_ranks.
  [[nodiscard]] absl::StatusOr<std::unique_ptr<NetworkRun>> Start(Options options);

  /// Resumes the run if it waits for ranks and all have joined. While one is missing, fails with
  /// missing(). Never waits.
  [[nodiscard]] absl::Status ResumeIfComplete();

  /// `result`: of a call of the run. If it failed because another rank is lost, suspends the run,
  /// restores good weights, and returns missing() in its place.
  template <typename Result>
  [[nodiscard]] Result SuspendIfLost(Result result) {
    if (result.ok() || !IsOneLost()) return result;
    return Suspend();
  }

  /// Drains the run, and writes the last checkpoint. While a rank is missing, that is the newest
  /// state that has proven good. Fails as NetworkRun::Drain() and Recovery::Finish().
  [[nodiscard]] absl::Status Drain();

  /// Notes that the network has predicted a sample. On the last stage's thread.
  void OnPredicted(std::int64_t sample) { newest_prediction_ = sample; }

  /// OK unless it waits for ranks. Then UNAVAILABLE, as GatheredRanks::missing(). Thread-safe.
  [[nodiscard]] absl::Status missing() const {
    return gathered_ != nullptr ? gathered_->missing() : absl::OkStatus();
  }
  /// With what the ranks have sent. nullopt: there are no other ranks. Thread-safe.
  [[nodiscard]] std::optional<RankFigures> figures() const ABSL_LOCKS_EXCLUDED(work_mu_);
  /// As Learner::worked(), of the stages of all ranks. Thread-safe.
  [[nodiscard]] std::vector<StageTime> worked() const ABSL_LOCKS_EXCLUDED(work_mu_);
  /// Adds the rank of each stage. Thread-safe.
  void Describe(LearnerDescription& description) const;

 private:
  [[nodiscard]] bool HasOthers() const {
    return !options_.rank_of_stage.empty() && options_.rank_of_stage.front() > 0;
  }
  [[nodiscard]] RankWires RanksOver(Wires& wires, std::int64_t epoch,
                                    std::shared_ptr<SentToRanks> sent) const;
  [[nodiscard]] int size() const { return options_.rank_of_stage.front() + 1; }
  [[nodiscard]] absl::Status TakeOwnPart(Options& options);
  [[nodiscard]] absl::Status ResumeWith(RankGroup& group);
  [[nodiscard]] absl::StatusOr<Plan> Tell(const NetworkChange& change);
  void OnSwitch();
  [[nodiscard]] RankTask FromNow(RankTask task) const;
  void FollowCosts();
  void FollowLinks();
  // By rank, of the present group; empty if it has no news.
  [[nodiscard]] std::vector<RankWork> WorkOfRanks() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(work_mu_);
  [[nodiscard]] std::vector<StageTime> WorkOfOthers() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(work_mu_);
  [[nodiscard]] std::vector<LinkFigures> Links() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(work_mu_);
  void EndCounts() ABSL_LOCKS_EXCLUDED(work_mu_);
  [[nodiscard]] bool IsOneLost() const;
  [[nodiscard]] absl::Status Suspend();

  const LearnerOptions& options_;
  const JoinRanks& join_;

  // Constant after Start(), except their contents.
  AbsentWires absent_;
  NetworkRun* run_ = nullptr;
  Recovery* recovery_ = nullptr;
  LearnerPlan* plan_ = nullptr;
  std::unique_ptr<GatheredRanks> gathered_;  // Null: this process runs all stages.

  std::string file_;                   // The bytes of the network's file.
  RankTask task_;                      // For the next group, without the file.
  std::optional<RankTask> next_task_;  // While the ranks switch to it.
  std::int64_t first_of_group_ = 0;    // The first sample of the group.

  // When the stages' costs were last measured, for a plan that follows them.
  struct Measured {
    nanoseconds time{0};
    std::int64_t next_sample = 0;
    std::vector<StageTime> worked = {};
  };
  Measured measured_;
  bool knows_links_ = false;  // Whether the plan has the speeds of the group's links.

  std::atomic<std::int64_t> newest_prediction_ = -1;

  // What the ranks have done: in groups that are over, and what this rank sends in the present one.
  mutable Mutex work_mu_;
  std::vector<StageTime> past_work_ ABSL_GUARDED_BY(work_mu_);
  std::vector<LinkFigures> past_links_ ABSL_GUARDED_BY(work_mu_);
  std::shared_ptr<SentToRanks> sent_ ABSL_GUARDED_BY(work_mu_);  // Null between two groups.
};

}  // namespace millrace::pipeline
