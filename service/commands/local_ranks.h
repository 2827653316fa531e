// Ranks as processes of this machine: `millrace join`, started and ended by their leader.
#pragma once

#include <sys/types.h>

#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "service/commands/rank_arguments.h"

namespace millrace::service {

/// For one thread.
class LocalRanks {
 public:
  /// Starts `count` processes that join `leader` once. Fails if one cannot be started.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<LocalRanks>> Start(int count,
                                                                         const HostAndPort& leader,
                                                                         const std::string& secret);

  /// Ends the processes that still run.
  ~LocalRanks();

  LocalRanks(const LocalRanks&) = delete;
  LocalRanks& operator=(const LocalRanks&) = delete;

  /// A stop is requested once a process has failed.
  [[nodiscard]] std::stop_token failed() const { return failed_.get_token(); }

  /// Waits until all have ended. Fails if one has failed.
  [[nodiscard]] absl::Status Wait();

 private:
  struct Process {
    pid_t pid = -1;
    int status = 0;       // As of waitpid(), for the thread below until it ends.
    std::jthread waiter;  // Waits for its end.
  };

  LocalRanks() = default;

  std::stop_source failed_;
  std::vector<std::unique_ptr<Process>> processes_;
};

}  // namespace millrace::service
