// Ranks as processes of this machine: `millrace join`, started and ended by their leader.
#pragma once

#include <sys/types.h>

#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
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

  /// A stop is requested once a process has ended.
  [[nodiscard]] std::stop_token ended() const { return ended_.get_token(); }
  /// How the first process ended before its time. REQUIRES: a stop was requested.
  [[nodiscard]] absl::Status FirstEnd() ABSL_LOCKS_EXCLUDED(mu_);

  /// Waits until all have ended. Fails if one has failed.
  [[nodiscard]] absl::Status Wait() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  struct Process {
    pid_t pid = -1;
    std::jthread waiter;  // Waits for its end.
  };
  struct End {
    pid_t pid = -1;
    int status = -1;  // As of waitpid().
  };

  LocalRanks() = default;

  void Await(pid_t pid) ABSL_LOCKS_EXCLUDED(mu_);

  std::stop_source ended_;
  Mutex mu_;
  std::vector<End> ends_ ABSL_GUARDED_BY(mu_);
  std::vector<std::unique_ptr<Process>> processes_;  // Last: their threads use the rest.
};

}  // namespace millrace::service
