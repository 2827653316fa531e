// Reads the configuration again while the server runs, and makes what has changed in it so.
//
//   streams that are new, gone, changed   added, deleted, changed, as a client's calls would
//   what holds for clients' streams       from the next call on
//   budget                                for the next stream
//   listen                                named in the log: it takes a restart
//
// A stream that is as before in the file is left alone, whatever clients have made of it meanwhile.
// Of one that is not, the sections (`source`, `model`, ...) that are not as before in the file hold
// as the file says, and the others stay as clients have made them. One that a client has deleted is
// made anew then. Streams that clients have added are left alone, also those of a name that the
// file has. What fails is logged, leaves its stream as it was, and is tried again the next time.
#pragma once

#include <functional>
#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "service/config/config.h"
#include "service/registry/config_standing.h"
#include "service/registry/stream_control.h"

namespace millrace::service {

/// What came of it: names of streams, and of keys.
struct ReloadOutcome {
  std::vector<std::string> added = {};
  std::vector<std::string> changed = {};
  std::vector<std::string> deleted = {};
  /// With why.
  std::map<std::string, std::string> failed = {};
  /// Keys that do not hold until the server is started again.
  std::vector<std::string> take_restart = {};
};

/// "1 stream added, 2 changed", or "nothing has changed".
[[nodiscard]] std::string Describe(const ReloadOutcome& outcome);

/// For one thread, but for standing().
class ConfigReload {
 public:
  struct Options {
    /// What the file says now.
    std::function<absl::StatusOr<Config>()> load = {};
    /// Must outlive it.
    StreamControl* control = nullptr;
    /// Told of each configuration that has been read, before its streams are changed.
    std::function<void(const Config&)> on_read = {};
    /// Once it says so, no more streams are changed.
    std::stop_token stop = {};
  };

  /// `config`: what the server was started with.
  ConfigReload(Options options, Config config);

  /// Takes as long as streams take to start and to stop. Fails as `load` does, and then nothing has
  /// changed. Both are logged.
  absl::StatusOr<ReloadOutcome> Apply() ABSL_LOCKS_EXCLUDED(mu_);

  /// Of the last Apply() that has ended, or, before the first, of the start. Thread-safe.
  [[nodiscard]] ConfigStanding standing() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  absl::StatusOr<ReloadOutcome> Read();
  void Note(bool holds) ABSL_LOCKS_EXCLUDED(mu_);
  void DeleteStreams(const Config& next, ReloadOutcome& outcome);
  void ChangeStreams(const Config& next, ReloadOutcome& outcome);
  void AddStreams(const Config& next, ReloadOutcome& outcome);
  /// `defaults`: what the file says for all streams.
  [[nodiscard]] absl::Status Change(const StreamConfig& before, const StreamConfig& next,
                                    const StreamConfig& defaults);

  // Constant after construction.
  const Options options_;

  /// What holds: of the file as it was read last, what could be made so.
  Config config_;

  mutable Mutex mu_;
  ConfigStanding standing_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millrace::service
