// The server's door for processes on other hosts that run stages of its networks.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <stop_token>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "pipeline/wires/rank_group.h"
#include "service/config/config.h"

namespace millrace::pipeline {
class RankLeader;
}  // namespace millrace::pipeline

namespace millrace::service {

/// Thread-safe.
class RankDoor {
 public:
  RankDoor();
  ~RankDoor();

  /// Listens at `listen`, which has a host. If it is empty, does nothing. Fails as
  /// RankLeader::Listen(), naming the key. Call it once, before the other functions.
  [[nodiscard]] absl::Status Open(const RanksConfig& config, const std::string& listen);
  [[nodiscard]] bool is_open() const { return leader_ != nullptr; }

  /// Waits for the other ranks of a stream's network, and logs who is missing. Streams that wait at
  /// the same time take turns of a second, so that each gets its processes once enough are there.
  /// Fails as RankLeader::Gather(). REQUIRES: is_open().
  [[nodiscard]] absl::StatusOr<std::unique_ptr<pipeline::RankGroup>> Gather(
      const std::string& stream, const pipeline::JoinRequest& request) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  [[nodiscard]] absl::Status TakeTurn(const std::stop_token& stop) ABSL_LOCKS_EXCLUDED(mu_);
  void EndTurn() ABSL_LOCKS_EXCLUDED(mu_);

  // Constant after Open(). The leader is for the stream that gathers.
  std::string address_;
  std::unique_ptr<pipeline::RankLeader> leader_;

  Mutex mu_;
  CondVar turn_;
  std::uint64_t last_ticket_ ABSL_GUARDED_BY(mu_) = 0;
  std::set<std::uint64_t> waiting_ ABSL_GUARDED_BY(mu_);  // Tickets. The first has the turn.
};

}  // namespace millrace::service
