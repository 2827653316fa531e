// The processes that learn one network together.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/wires/wires.h"

namespace millrace::pipeline {

/// A process that shows no sign of life for so long is lost, unless configured otherwise.
inline constexpr std::chrono::milliseconds kUsualLostAfter = std::chrono::seconds(5);

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
  /// For messages: "process 17 on gpu2".
  [[nodiscard]] virtual std::string name(int rank) const = 0;

  /// OK until another process is lost, or leaves because it was asked to end; then UNAVAILABLE with
  /// its name and the cause. Stays OK if the group is over because a rank has failed. Thread-safe.
  [[nodiscard]] virtual absl::Status lost() const = 0;

  /// Shows `news` to the other ranks, with the next sign of life, in the place of earlier news. At
  /// most kMaxNews bytes; longer ones are not shown. Thread-safe.
  virtual void Show(std::string news) = 0;
  static constexpr std::size_t kMaxNews = 4000;
  /// The last news that came from `rank`; empty if none came. Thread-safe.
  [[nodiscard]] virtual std::string NewsOf(int rank) const = 0;

  /// This process leaves because it was asked to end: all transfers of all ranks end, and the
  /// others count it as lost. Thread-safe.
  virtual void Leave() = 0;
};

/// A wish for other processes.
struct JoinRequest {
  /// All processes, with this one.
  int size = 1;
  std::stop_token stop = {};
  /// After this time it fails with DEADLINE_EXCEEDED, unless all are there.
  std::chrono::nanoseconds patience = std::chrono::hours(24 * 365);
  /// Called with the number of processes that are there so far, with this one, each time that it
  /// changes. May be empty.
  std::function<void(int there)> on_there = {};
};

/// Waits for the other processes, and leads them. Fails with CANCELLED once a stop is requested,
/// and with UNAVAILABLE if a process is lost while they connect: another try may succeed.
using JoinRanks =
    std::function<absl::StatusOr<std::unique_ptr<RankGroup>>(const JoinRequest& request)>;

}  // namespace millrace::pipeline
