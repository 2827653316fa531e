// Lets streams in as long as the devices have room for them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "service/config/config.h"
#include "service/registry/device_budget.h"
#include "service/registry/memory_budget.h"
#include "service/registry/streams.h"

namespace millrace::service {

/// Bytes of this machine's memory for all learners, as `budget` says, or else the machine.
[[nodiscard]] double MemoryBytesOf(const Budget& budget);
/// Bytes, at least, to load the user's own network that `config` names; 0: it names none.
[[nodiscard]] double MemoryToLoad(const StreamConfig& config);

/// Reckons a stream at the rate that its camera announces. Streams that are changed at the same
/// time cannot both have what is left: what one was admitted with counts until its change is over.
/// Thread-safe.
class BudgetGate {
 public:
  /// Frames a second of a camera that no stream has yet. The look at it may take seconds, and ends
  /// soon once options.stop says so. 0: the camera does not say. Thread-safe; throws nothing.
  using Announced = std::function<double(const ingest::SourceOptions& options)>;

  /// `streams`: those that are running. It must outlive the gate.
  BudgetGate(const Budget& budget, const Streams& streams, Announced announced)
      : streams_(streams), announced_(std::move(announced)), budget_(budget) {}

  /// Whether a stream of `config`, whose learner was measured, fits beside the others: fails as
  /// Fits() does. Always OK for one that is made anew as it was, or takes no more than before; and,
  /// but logged, for a stream of the file where the file says no budget. `announced`: frames a
  /// second of its camera, where a look has told them already, 0 where the camera does not say.
  /// Without it, a camera that no stream has is looked at, which may take seconds. What it takes
  /// counts from then on, until Release() or, where it runs by then, as long as that.
  [[nodiscard]] absl::Status Admit(const StreamConfig& config,
                                   const pipeline::LearnerDescription& learner,
                                   std::optional<double> announced = {}) ABSL_LOCKS_EXCLUDED(mu_);

  /// A change of `stream` begins: what it takes, if it runs, counts until Release().
  void Hold(const std::string& stream) ABSL_LOCKS_EXCLUDED(mu_);
  /// The change is over: from now on what runs counts.
  void Release(const std::string& stream) ABSL_LOCKS_EXCLUDED(mu_);

  /// Holds the memory that a stream of `config` needs, `bytes`, from before it is made. Fails as
  /// MemoryBudget::Take(); never for one that needs no more than its life before, and only logged
  /// for a stream of the file where the file says no budget. Both lives of one that is made anew
  /// count as long as both are there.
  [[nodiscard]] absl::StatusOr<HeldMemory> HoldMemory(const StreamConfig& config, double bytes)
      ABSL_LOCKS_EXCLUDED(mu_);

  /// What holds from now on. Streams that are there stay.
  void SetBudget(const Budget& budget) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  [[nodiscard]] Budget CurrentBudget() const ABSL_LOCKS_EXCLUDED(mu_);
  /// As the stream that has this camera says; nothing where none has it.
  [[nodiscard]] std::optional<double> KnownRateOf(const ingest::SourceOptions& source) const;
  /// Whether the camera's rate, which is not known, decides.
  [[nodiscard]] bool RateMatters(const StreamConfig& config) const ABSL_LOCKS_EXCLUDED(mu_);
  /// Whether another stream than `stream` runs, or is held.
  [[nodiscard]] bool HasOthers(const std::string& stream) const ABSL_LOCKS_EXCLUDED(mu_);
  /// Whether a stream is as it was, or takes no more than before.
  [[nodiscard]] bool IsNoNews(const StreamConfig& config, const StreamLoad& load) const;

  using Loads = std::map<std::string, StreamLoad>;  // By the streams' names.

  /// Of the streams that run, but for `stream`. It calls the streams, one of which may hang.
  [[nodiscard]] Loads RunningBeside(const std::string& stream) const ABSL_LOCKS_EXCLUDED(mu_);
  /// Those, and what is held for others than `stream`.
  [[nodiscard]] std::vector<StreamLoad> WithHeld(Loads running, const std::string& stream) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  [[nodiscard]] std::uint64_t released() const ABSL_LOCKS_EXCLUDED(mu_);

  // Self-synchronized.
  MemoryBudget memory_;

  // Constant after construction.
  const Streams& streams_;
  const Announced announced_;

  mutable Mutex mu_;
  Budget budget_ ABSL_GUARDED_BY(mu_);
  Loads held_ ABSL_GUARDED_BY(mu_);                  ///< Of those that are changed.
  std::uint64_t released_ ABSL_GUARDED_BY(mu_) = 0;  ///< Changes that are over.
};

}  // namespace millrace::service
