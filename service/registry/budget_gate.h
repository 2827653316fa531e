// Admits streams as long as the devices and the memory have capacity for them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "service/config/config.h"
#include "service/registry/device_budget.h"
#include "service/registry/memory_budget.h"
#include "service/registry/stream_registry.h"

namespace millrace::service {

/// Memory for all learners on this machine, in bytes: as `budget` says, or else
/// UsableMemoryBytes().
[[nodiscard]] double MemoryBytesOf(const Budget& budget);
/// The least memory in bytes that loading the user's own network in `config` needs. 0: the network
/// is built in.
[[nodiscard]] double MemoryToLoad(const StreamConfig& config);

/// Estimates a stream's load from the frame rate that its camera announces. An admitted load counts
/// until the change ends, so that two concurrent changes cannot take the same capacity.
/// Thread-safe.
class BudgetGate {
 public:
  /// The frames per second of a camera that no stream uses yet. 0: the camera does not announce a
  /// rate. The query may take seconds, and ends early once `options.stop` is requested. Must be
  /// thread-safe and must not throw.
  using AnnouncedRate = std::function<double(const ingest::SourceOptions& options)>;

  /// `streams`: the running streams. It must outlive the gate.
  BudgetGate(const Budget& budget, const StreamRegistry& streams, AnnouncedRate announced)
      : streams_(streams), announced_(std::move(announced)), budget_(budget) {}

  /// Whether a stream of `config`, whose learner was measured, fits beside the others. Fails as
  /// Fits() does. Two kinds of streams always pass. One is a stream that is restarted without a
  /// change or with no greater load. The other is a stream of the file if the file sets no budget;
  /// this case is logged.
  ///
  /// `announced`: the camera's frames per second if already queried, 0 if the camera does not
  /// announce it. Without it, a camera that no stream uses is queried, which may take seconds and
  /// ends early once `stop` is requested. The load counts from now until Release(), or, if the
  /// stream runs by then, until it stops.
  [[nodiscard]] absl::Status Admit(const StreamConfig& config,
                                   const pipeline::LearnerDescription& learner,
                                   std::optional<double> announced = {},
                                   const std::stop_token& stop = {}) ABSL_LOCKS_EXCLUDED(mu_);

  /// A change of `stream` begins. If the stream runs, its load counts until Release().
  void Hold(const std::string& stream) ABSL_LOCKS_EXCLUDED(mu_);
  /// The change is over. From now on the load of the running stream counts.
  void Release(const std::string& stream) ABSL_LOCKS_EXCLUDED(mu_);

  /// Reserves `bytes` of memory for a stream of `config`. Call it before the stream is made. Fails
  /// as MemoryBudget::Take() does. It never fails for a stream that needs no more than its previous
  /// run. For a stream of the file it only logs the failure if the file sets no budget. During a
  /// restart both runs count as long as both exist.
  [[nodiscard]] absl::StatusOr<HeldMemory> HoldMemory(const StreamConfig& config, double bytes)
      ABSL_LOCKS_EXCLUDED(mu_);

  /// Sets the budget. Running streams stay.
  void SetBudget(const Budget& budget) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  [[nodiscard]] Budget CurrentBudget() const ABSL_LOCKS_EXCLUDED(mu_);
  /// The rate of the camera, if a stream uses it already. Nullopt otherwise.
  [[nodiscard]] std::optional<double> KnownRateOf(const ingest::SourceOptions& source) const;
  /// Whether the decision depends on the camera's unknown rate.
  [[nodiscard]] bool RateMatters(const StreamConfig& config) const ABSL_LOCKS_EXCLUDED(mu_);
  /// Whether a stream other than `stream` runs or has a held load.
  [[nodiscard]] bool HasOthers(const std::string& stream) const ABSL_LOCKS_EXCLUDED(mu_);
  /// Whether the stream is unchanged or has no greater load than before.
  [[nodiscard]] bool IsNoNews(const StreamConfig& config, const StreamLoad& load) const;

  using Loads = std::map<std::string, StreamLoad>;  // By stream name.

  /// The loads of all running streams except `stream`. Calls the streams, and one stream may hang.
  [[nodiscard]] Loads RunningBeside(const std::string& stream) const ABSL_LOCKS_EXCLUDED(mu_);
  /// `running`, combined with the held loads of streams other than `stream`.
  [[nodiscard]] std::vector<StreamLoad> WithHeld(Loads running, const std::string& stream) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  [[nodiscard]] std::uint64_t released() const ABSL_LOCKS_EXCLUDED(mu_);

  // Self-synchronized.
  MemoryBudget memory_;

  // Constant after construction.
  const StreamRegistry& streams_;
  const AnnouncedRate announced_;

  mutable Mutex mu_;
  Budget budget_ ABSL_GUARDED_BY(mu_);
  Loads held_ ABSL_GUARDED_BY(mu_);                  ///< Loads of streams that are changing.
  std::uint64_t released_ ABSL_GUARDED_BY(mu_) = 0;  ///< Number of finished changes.
};

}  // namespace millrace::service
