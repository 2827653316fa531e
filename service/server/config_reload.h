// Reads the configuration again while the server runs, and applies the changes.
//
//   new, removed, changed streams   added, deleted, changed, as by a client's calls
//   rules for clients' streams      from the next call on
//   budget                          for the next stream
//   listen, ranks                   named in the log: needs a restart
//
// A stream whose entry in the file is unchanged is left alone, even if clients have changed it
// meanwhile. If the entry has changed, its changed sections (`source`, `model`, ...) are applied,
// and its other sections keep the clients' changes. If a client has deleted such a stream, it is
// created again. Streams that clients have added are left alone, even if the file has a stream with
// the same name. A failed change is logged, leaves its stream as it was, and is retried at the next
// reload.
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
#include "service/registry/stream_changes.h"

namespace millrace::service {

/// The result of a reload: names of streams, and of keys.
struct ReloadOutcome {
  std::vector<std::string> added = {};
  std::vector<std::string> changed = {};
  std::vector<std::string> deleted = {};
  /// Keyed by stream; the value is the reason.
  std::map<std::string, std::string> failed = {};
  /// Keys whose change needs a restart of the server.
  std::vector<std::string> take_restart = {};
};

/// "1 stream added, 2 changed", or "no stream has changed".
[[nodiscard]] std::string Describe(const ReloadOutcome& outcome);

/// For one thread, except standing().
class ConfigReload {
 public:
  struct Options {
    /// Reads and parses the current file.
    std::function<absl::StatusOr<Config>()> load = {};
    /// Must outlive this object.
    StreamChanges* changes = nullptr;
    /// Called with each configuration after it was read, before its streams are changed.
    std::function<void(const Config&)> on_read = {};
    /// Once requested, no more streams are changed.
    std::stop_token stop = {};
  };

  /// `config`: the configuration that the server started with.
  ConfigReload(Options options, Config config);

  /// Blocks until all changed streams have started or stopped. Fails as `load` does, and then
  /// changes nothing. Logs both outcomes.
  absl::StatusOr<ReloadOutcome> Apply() ABSL_LOCKS_EXCLUDED(mu_);

  /// Standing after the last finished Apply(), or after the start if there was none. Thread-safe.
  [[nodiscard]] ConfigStanding standing() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  absl::StatusOr<ReloadOutcome> Read();
  void Note(bool holds) ABSL_LOCKS_EXCLUDED(mu_);
  void DeleteStreams(const Config& next, ReloadOutcome& outcome);
  void ChangeStreams(const Config& next, ReloadOutcome& outcome);
  void ChangeStream(StreamConfig& before, const StreamConfig& next, const StreamConfig& defaults,
                    ReloadOutcome& outcome);
  void AddStreams(const Config& next, ReloadOutcome& outcome);
  /// `defaults`: the file's defaults for all streams.
  [[nodiscard]] absl::Status Change(const StreamConfig& before, const StreamConfig& next,
                                    const StreamConfig& defaults);

  // Constant after construction.
  const Options options_;

  /// The effective configuration: the last file, as far as it could be applied.
  Config config_;

  mutable Mutex mu_;
  ConfigStanding standing_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millrace::service
