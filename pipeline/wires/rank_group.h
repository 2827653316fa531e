// The processes that learn one network together.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>

#include "absl/status/statusor.h"
#include "pipeline/wires/wires.h"

namespace millrace::pipeline {

/// Processes that are joined. If one is lost, the group is over.
class RankGroup {
 public:
  virtual ~RankGroup() = default;

  /// The group outlives them. Thread-safe.
  [[nodiscard]] virtual Wires& wires() = 0;
  /// 0 leads.
  [[nodiscard]] virtual int rank() const = 0;
  /// The number of processes.
  [[nodiscard]] virtual int size() const = 0;
  /// Counts the groups of a leader from 1.
  [[nodiscard]] virtual std::int64_t epoch() const = 0;
};

/// Waits for `size` - 1 other processes, and leads them. Fails with CANCELLED once `stop` is
/// requested.
using JoinRanks = std::function<absl::StatusOr<std::unique_ptr<RankGroup>>(
    int size, const std::stop_token& stop)>;

}  // namespace millrace::pipeline
