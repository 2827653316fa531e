// Lets streams in as long as the devices have room for them.
#pragma once

#include <functional>
#include <utility>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "service/config.h"
#include "service/streams.h"

namespace millrace::service {

/// Reckons a stream at the rate that its camera announces. Thread-safe.
class BudgetGate {
 public:
  /// Frames a second of a camera of which nothing is known yet, after a look at it, which may take
  /// seconds. 0: it does not say.
  using Announced = std::function<double(const ingest::SourceOptions&)>;

  /// `streams`: those that are running. It must outlive the gate.
  BudgetGate(const Budget& budget, const Streams& streams, Announced announced)
      : streams_(streams), announced_(std::move(announced)), budget_(budget) {}

  /// Whether a stream of `config`, whose learner was measured, fits beside the others: fails as
  /// Fits() does. Always OK for one that is made anew as it was, or takes no more than before; and,
  /// but logged, for what the file says of its streams where it says no budget.
  [[nodiscard]] absl::Status Admit(const StreamConfig& config,
                                   const pipeline::LearnerDescription& learner) const;

  /// What holds from now on. Streams that are there stay.
  void SetBudget(const Budget& budget) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  [[nodiscard]] Budget budget() const ABSL_LOCKS_EXCLUDED(mu_);

  // Constant after construction.
  const Streams& streams_;
  const Announced announced_;

  mutable Mutex mu_;
  Budget budget_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millrace::service
