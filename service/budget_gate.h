// Lets streams in as long as the devices have room for them.
#pragma once

#include <atomic>

#include "absl/status/status.h"
#include "service/config.h"
#include "service/streams.h"

namespace millrace::service {

/// Reckons a stream that keeps its camera at the rate that this camera has. Thread-safe.
class BudgetGate {
 public:
  /// `streams`: those that are running. It must outlive the gate.
  BudgetGate(const Budget& budget, const Streams& streams) : budget_(budget), streams_(streams) {}

  /// Whether a stream of `config`, whose learner was measured, fits beside the others: fails as
  /// Fits() does. Always OK for one that is made anew as it was, or takes no more than before; and,
  /// but logged, for the file's streams where the file says no budget.
  [[nodiscard]] absl::Status Admit(const StreamConfig& config,
                                   const pipeline::LearnerDescription& learner) const;

  /// From now on streams are those of clients.
  void FileIsDone() { of_clients_ = true; }

 private:
  // Constant after construction.
  const Budget budget_;
  const Streams& streams_;

  std::atomic<bool> of_clients_ = false;
};

}  // namespace millrace::service
