// How the processes that learn one network find each other. Rank 0 listens, the others join it.
//
// PyTorch's key-value store carries the first words: who joins, with which program, and whether it
// has the shared secret. Then c10d (Gloo) connects every two ranks. The secret keeps strangers'
// processes and mistakes away. It does not protect against an attacker in the network: store and
// connections are neither encrypted nor authenticated, so they need a private network.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/wires/rank_group.h"

namespace millrace::pipeline {

/// A leader's door. For one thread.
class RankLeader {
 public:
  struct Options {
    /// The address of this host at which the others reach it. Nothing listens on other addresses.
    std::string host = "127.0.0.1";
    /// 0: any free port.
    int port = 0;
    /// Only processes with the same secret may join. At least 16 bytes.
    std::string secret;
    /// A process that shows no sign of life for so long is lost.
    std::chrono::milliseconds lost_after = kUsualLostAfter;
    /// Called for each process that has joined, with its name and the number still missing. May be
    /// empty.
    std::function<void(const std::string& name, int missing)> on_joined = {};
    /// Called with the reason for each process that is refused or has left again. May be empty.
    std::function<void(const absl::Status&)> on_refused = {};
  };

  /// Listens. Fails with INVALID_ARGUMENT if the secret is too short or the address is not this
  /// host's, and with ALREADY_EXISTS if the port is taken.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<RankLeader>> Listen(const Options& options);

  virtual ~RankLeader() = default;

  [[nodiscard]] virtual int port() const = 0;

  /// Waits until all others have joined. They get the ranks from 1 in the order of their wishes,
  /// and without wishes in the order in which they came. Fails with CANCELLED once a stop is
  /// requested, and with DEADLINE_EXCEEDED after the patience; the processes that have joined then
  /// wait for the next call. Fails with UNAVAILABLE if a process is lost while they connect.
  [[nodiscard]] virtual absl::StatusOr<std::unique_ptr<RankGroup>> Gather(
      const JoinRequest& request) = 0;
};

struct JoinOptions {
  /// The leader's.
  std::string host;
  int port = 0;
  std::string secret;
  /// Processes get their ranks in the order of their wishes. 0: any rank.
  int wish = 0;
};

/// Joins a leader, and waits for the other ranks. Fails with
///   NOT_FOUND            if no leader answers there
///   UNAVAILABLE          if it ends, or a rank cannot be reached
///   PERMISSION_DENIED    if the secrets differ
///   FAILED_PRECONDITION  if the programs differ
///   CANCELLED            once `stop` is requested
[[nodiscard]] absl::StatusOr<std::unique_ptr<RankGroup>> JoinLeader(const JoinOptions& options,
                                                                    const std::stop_token& stop);

}  // namespace millrace::pipeline
