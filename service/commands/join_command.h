// `millrace join`: runs stages of a network that another process leads.
#pragma once

#include <stop_token>
#include <string>

#include "CLI/App.hpp"
#include "absl/status/status.h"

namespace millrace::pipeline {
struct JoinOptions;
}  // namespace millrace::pipeline

namespace millrace::service {

struct JoinArguments {
  /// HOST:PORT of the leader.
  std::string leader;
  std::string secret_file;
  /// The rank that it wishes to have; 0: any.
  int rank = 0;
  /// Ends with the first run.
  bool once = false;
};

void AddJoin(CLI::App& app, JoinArguments& arguments);

/// Which leaders a process follows.
enum class Followed {
  kAll,        ///< One after the other.
  kOneLeader,  ///< The first one, until it has ended. A lost one is waited for, for a minute.
  kOneRun,     ///< Only the first run of the first leader.
};

/// Runs stages for the leaders that come to `leader`'s address, and logs. Ends well once a stop is
/// requested. Fails with what another try to join would not change, and with kOneRun as the run
/// does.
[[nodiscard]] absl::Status FollowLeaders(const pipeline::JoinOptions& leader, Followed followed,
                                         const std::stop_token& stop);

/// Returns the program's exit code.
int RunJoin(const JoinArguments& arguments);

}  // namespace millrace::service
