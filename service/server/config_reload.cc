#include "service/server/config_reload.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/error_reason.h"
#include "base/log_about.h"
#include "base/plural.h"
#include "base/status.h"
#include "service/config/config_entry.h"
#include "service/config/config_print.h"
#include "service/rpc/caught.h"
#include "spdlog/spdlog.h"

namespace millrace::service {
namespace {

using StreamConfigs = std::vector<StreamConfig>;

bool Has(const StreamConfigs& streams, const std::string& name) {
  return std::ranges::find(streams, name, &StreamConfig::name) != streams.end();
}

std::vector<std::string> KeysThatTakeARestart(const Config& before, const Config& after) {
  std::vector<std::string> keys = ChangedKeys(before, after);
  std::erase_if(keys, [](const std::string& key) {
    return !absl::StartsWith(key, "listen") && !absl::StartsWith(key, "ranks");
  });
  return keys;
}

void Log(const ReloadOutcome& outcome) {
  spdlog::info("the configuration was read again: {}", Describe(outcome));
  for (const auto& [stream, why] : outcome.failed) {
    const LogAbout about(stream);
    spdlog::error("stream '{}': {}", stream, why);
  }
  if (outcome.take_restart.empty()) return;
  spdlog::warn("start the server again for what cannot change while it runs: {}",
               absl::StrJoin(outcome.take_restart, ", "));
}

/// Applies the differences between the file's `before` and `next` to the stream's current `now`.
absl::StatusOr<StreamConfig> Applied(const StreamConfig& before, const StreamConfig& next,
                                     const StreamConfig& defaults, const StreamConfig& now) {
  if (now.effective == before.effective) return next;
  const std::string entry =
      WithSectionsOf(now.entry, next.entry, DifferingKeys(before.effective, next.effective));
  absl::StatusOr<StreamConfig> applied = ParseStreamEntry(entry, next.name, defaults);
  if (!applied.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat("what the file says now does not go with what clients have made of it: ",
                     std::string(applied.status().message())));
  }
  applied->of_file = true;
  return applied;
}

/// The error names the keys whose change would lose what was learned: a file cannot permit that
/// loss.
/// `refusal`: why the running learner does not take the change; may be empty.
absl::Status WouldForget(std::vector<std::string> keys, const std::string& refusal) {
  std::vector<std::string> others = keys;
  std::erase_if(others, CanChangeWhileItLearns);
  if (!others.empty()) keys = std::move(others);
  const std::string why = refusal.empty() ? "" : absl::StrCat(refusal, ", and ");
  return absl::FailedPreconditionError(
      absl::StrCat(absl::StrJoin(keys, ", "), " cannot change while it learns: ", why,
                   "it keeps no checkpoints, and what it has learned would be "
                   "lost. Start the server again, or reset the stream by a client's UpdateStream"));
}

std::string RefusalOf(const absl::Status& status) {
  for (const auto& [name, value] : ValuesOf(status)) {
    if (name == "refusal") return value;
  }
  return "";
}

}  // namespace

std::string Describe(const ReloadOutcome& outcome) {
  std::vector<std::string> parts;
  const auto add = [&parts](std::size_t count, const std::string& what) {
    if (count == 0) return;
    parts.push_back(parts.empty() ? absl::StrCat(Plural(count, "stream"), " ", what)
                                  : absl::StrCat(count, " ", what));
  };
  add(outcome.added.size(), "added");
  add(outcome.changed.size(), "changed");
  add(outcome.deleted.size(), "deleted");
  add(outcome.failed.size(), "not as it says");
  return parts.empty() ? "no stream has changed" : absl::StrJoin(parts, ", ");
}

ConfigReload::ConfigReload(Options options, Config config)
    : options_(std::move(options)), config_(std::move(config)) {
  MILLRACE_CHECK(options_.load && options_.changes != nullptr);
  Note(true);
}

// No other code on this thread catches exceptions.
absl::StatusOr<ReloadOutcome> ConfigReload::Apply() {
  absl::StatusOr<ReloadOutcome> outcome =
      Caught([this] { return Read(); }, "reading the configuration again");
  Note(outcome.ok() && outcome->failed.empty());
  return outcome;
}

ConfigStanding ConfigReload::standing() const {
  const MutexLock lock(mu_);
  return standing_;
}

void ConfigReload::Note(bool holds) {
  const MutexLock lock(mu_);
  standing_.holds = holds;
  if (holds) standing_.held_at = WallTime();
}

absl::StatusOr<ReloadOutcome> ConfigReload::Read() {
  absl::StatusOr<Config> next = options_.load();
  if (!next.ok()) {
    spdlog::error("the configuration was read again and is wrong; nothing has changed:\n{}",
                  std::string(next.status().message()));
    return next.status();
  }
  ReloadOutcome outcome = {.take_restart = KeysThatTakeARestart(config_, *next)};
  if (options_.on_read) options_.on_read(*next);
  // In this order, so that deleted streams make room.
  DeleteStreams(*next, outcome);
  ChangeStreams(*next, outcome);
  AddStreams(*next, outcome);
  Log(outcome);
  // The listening addresses stay unchanged, so the next reload compares with them again.
  next->listen = config_.listen;
  next->ranks = config_.ranks;
  next->streams = std::move(config_.streams);
  config_ = *std::move(next);
  return outcome;
}

// A client may have deleted the stream already, and even added another one with its name.
void ConfigReload::DeleteStreams(const Config& next, ReloadOutcome& outcome) {
  std::set<std::string> gone;
  for (const StreamConfig& stream : config_.streams) {
    if (options_.stop.stop_requested()) break;
    if (Has(next.streams, stream.name)) continue;
    gone.insert(stream.name);
    const absl::Status status =
        options_.changes->Delete({.name = stream.name, .of_file = true}).status();
    if (status.ok()) outcome.deleted.push_back(stream.name);
  }
  std::erase_if(config_.streams,
                [&](const StreamConfig& stream) { return gone.contains(stream.name); });
}

void ConfigReload::ChangeStreams(const Config& next, ReloadOutcome& outcome) {
  for (StreamConfig& before : config_.streams) {
    const auto stream = std::ranges::find(next.streams, before.name, &StreamConfig::name);
    if (stream == next.streams.end() || stream->effective == before.effective) continue;
    if (options_.stop.stop_requested()) return;
    ChangeStream(before, *stream, next.defaults, outcome);
  }
}

void ConfigReload::ChangeStream(StreamConfig& before, const StreamConfig& next,
                                const StreamConfig& defaults, ReloadOutcome& outcome) {
  const LogAbout about(next.name);
  absl::Status status = Change(before, next, defaults);
  const bool deleted = ReasonOf(status) == "STREAM_NOT_FOUND";
  if (deleted && SameEntry(next.entry, before.entry)) {  // Only a default has changed.
    before = next;
    return;
  }
  if (deleted) {
    spdlog::warn("stream '{}': a client has deleted it; it starts again, as the file says now",
                 before.name);
    status = options_.changes->Create(next).status();
  }
  if (status.ok()) {
    (deleted ? outcome.added : outcome.changed).push_back(before.name);
    before = next;
  } else {
    outcome.failed[before.name] = std::string(status.message());
  }
}

absl::Status ConfigReload::Change(const StreamConfig& before, const StreamConfig& next,
                                  const StreamConfig& defaults) {
  std::vector<std::string> keys;
  bool by_clients = false;
  const auto apply = [&](const StreamConfig& now) -> absl::StatusOr<StreamConfig> {
    MILLRACE_ASSIGN_OR_RETURN(StreamConfig applied, Applied(before, next, defaults, now));
    keys = DifferingKeys(now.effective, applied.effective);
    by_clients = now.effective != before.effective;
    return applied;
  };
  absl::Status status =
      options_.changes->Update({.name = next.name, .of_file = true}, apply, /*allow_reset=*/false)
          .status();
  if (ReasonOf(status) == "WOULD_FORGET") return WouldForget(std::move(keys), RefusalOf(status));
  if (status.ok() && !keys.empty()) {
    spdlog::info("stream '{}': the file changes {}", next.name, absl::StrJoin(keys, ", "));
  }
  if (status.ok() && by_clients) {
    spdlog::info(
        "stream '{}': clients have changed it; what the file says otherwise now holds as it "
        "says: {}",
        next.name, absl::StrJoin(DifferingKeys(before.effective, next.effective), ", "));
  }
  return status;
}

void ConfigReload::AddStreams(const Config& next, ReloadOutcome& outcome) {
  for (const StreamConfig& stream : next.streams) {
    if (options_.stop.stop_requested()) return;
    if (Has(config_.streams, stream.name)) continue;
    const absl::Status status = options_.changes->Create(stream).status();
    if (status.ok()) {
      outcome.added.push_back(stream.name);
      config_.streams.push_back(stream);
    } else {
      outcome.failed[stream.name] = std::string(status.message());
    }
  }
}

}  // namespace millrace::service
