// Lets streams in as long as the devices have room for them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "service/config.h"
#include "service/device_budget.h"
#include "service/streams.h"

namespace millrace::service {

/// Reckons a stream at the rate that its camera announces. Thread-safe.
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
  /// Without it, a camera that no stream has is looked at, which may take seconds.
  [[nodiscard]] absl::Status Admit(const StreamConfig& config,
                                   const pipeline::LearnerDescription& learner,
                                   std::optional<double> announced = {}) const;

  /// What holds from now on. Streams that are there stay.
  void SetBudget(const Budget& budget) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  [[nodiscard]] Budget budget() const ABSL_LOCKS_EXCLUDED(mu_);
  /// As the stream that has this camera says; nothing where none has it.
  [[nodiscard]] std::optional<double> KnownRateOf(const ingest::SourceOptions& source) const;
  /// Of the streams that run, but for `stream`.
  [[nodiscard]] std::vector<StreamLoad> LoadsBeside(const std::string& stream) const;

  // Constant after construction.
  const Streams& streams_;
  const Announced announced_;

  mutable Mutex mu_;
  Budget budget_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millrace::service
