// The other processes of one learner, over time: after each loss, all are gathered again.
//
//   gathering ──▶ Next() returns the group ──▶ in use ──▶ Replace(): one is lost ──┐
//       ▲                                                                          │
//       └──────────────────────────────────────────────────────────────────────────┘
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "pipeline/wires/rank_figures.h"
#include "pipeline/wires/rank_group.h"

namespace millrace::pipeline {

/// For one thread, except where noted.
class GatheredRanks {
 public:
  /// Begins to gather `size` processes, with this one. `join` runs on a thread of its own.
  /// REQUIRES: `size` is 2 or more. `clock` outlives it.
  GatheredRanks(JoinRanks join, int size, const Clock& clock = MonotonicClock());
  /// Stops gathering, and ends the group.
  ~GatheredRanks();

  GatheredRanks(const GatheredRanks&) = delete;
  GatheredRanks& operator=(const GatheredRanks&) = delete;

  /// The group in use. Null while gathering.
  [[nodiscard]] RankGroup* group() const ABSL_LOCKS_EXCLUDED(mu_) { return Shared().get(); }

  /// Takes the next group into use if all its processes have joined. Null if some are still
  /// missing, or could not connect. Never waits. Fails as `join`, but not with UNAVAILABLE.
  /// REQUIRES: group() is null.
  [[nodiscard]] absl::StatusOr<RankGroup*> Next() ABSL_LOCKS_EXCLUDED(mu_);

  /// Ends the group, which has lost a process, and begins to gather the next one. `served`: the
  /// group was of use. Fails with the cause if kMaxUseless groups in a row were of no use, within a
  /// minute. REQUIRES: group()->lost() is not OK, and nothing uses its wires.
  [[nodiscard]] absl::Status Replace(bool served) ABSL_LOCKS_EXCLUDED(mu_);
  static constexpr std::size_t kMaxUseless = 3;

  /// Ends the gathering, if it gathers: no group comes any more.
  void StopGathering() { gatherer_.request_stop(); }

  /// OK unless it gathers. Then UNAVAILABLE: how many are missing, and who was lost or cannot be
  /// reached. Thread-safe.
  [[nodiscard]] absl::Status missing() const ABSL_LOCKS_EXCLUDED(mu_);

  /// RankGroup::NewsOf() by rank. Empty while gathering. Thread-safe.
  [[nodiscard]] std::vector<std::string> news() const ABSL_LOCKS_EXCLUDED(mu_);

  /// A lost process counts at once, also before Replace(). Thread-safe.
  [[nodiscard]] RankFigures figures() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  void Gather() ABSL_LOCKS_EXCLUDED(mu_);
  void GatherUntilAllConnect(int size, const std::stop_token& stop) ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] std::shared_ptr<RankGroup> Shared() const ABSL_LOCKS_EXCLUDED(mu_);
  void OnThere(int there) ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] bool IsUselessTooOften(bool served);

  const JoinRanks join_;
  const Clock& clock_;

  std::deque<nanoseconds> useless_;  // When the last groups ended, in a row.

  mutable Mutex mu_;
  CondVar stopped_;
  bool is_gathering_ ABSL_GUARDED_BY(mu_) = true;
  absl::Status why_ ABSL_GUARDED_BY(mu_);  // Why it gathers; OK for the first group.
  RankFigures figures_ ABSL_GUARDED_BY(mu_);
  std::shared_ptr<RankGroup> group_ ABSL_GUARDED_BY(mu_);
  std::optional<absl::StatusOr<std::unique_ptr<RankGroup>>> next_ ABSL_GUARDED_BY(mu_);

  std::jthread gatherer_;  // Last: uses the other members.
};

}  // namespace millrace::pipeline
