#include "service/registry/stream_changes.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/error_reason.h"
#include "base/exception_to_status.h"
#include "base/log_about.h"
#include "base/plural.h"
#include "base/status.h"
#include "pipeline/checkpoint/checkpoint_folders.h"
#include "service/config/config_entry.h"
#include "service/registry/checkpoints_of_stream.h"
#include "spdlog/spdlog.h"

namespace millrace::service {
namespace {

// `refusal`: why the running learner does not take the change; may be empty.
absl::Status WouldForget(const std::string& name, const std::string& refusal) {
  const std::string why = refusal.empty() ? "" : absl::StrCat(" (", refusal, ")");
  return WithReason(
      "WOULD_FORGET", {{"stream", name}, {"refusal", refusal}},
      absl::FailedPreconditionError(absl::StrCat(
          "stream '", name,
          "' keeps no checkpoints: what it has learned would be lost by this change", why,
          ". Set "
          "allow_reset to make it all the same, or set checkpoints.folder when adding a stream")));
}

/// Changes from the configuration file must not fail because of waiting clients.
std::size_t MaxWaiting(bool of_file) {
  return of_file ? Claims::kNoLimit : StreamChanges::kMaxWaiting;
}

/// Whether the stream was stopped and could not start again.
bool Dead(const CameraStream& stream) { return !stream.running() && !stream.ended(); }

/// Ends an incarnation, with a message to its subscribers that another one follows.
void EndForChange(CameraStream& stream) {
  const std::string& name = stream.config().name;
  stream.ring().EndWith(
      WithReason("STREAM_CHANGED", {{"stream", name}},
                 absl::UnavailableError(absl::StrCat(
                     "stream '", name, "' restarts because of a change; subscribe again"))));
  stream.Stop();
}

// Sets only values that differ, because a task of labels accepts no policy.
LearnerChange LearnerChangeOf(const std::vector<std::string>& keys, const StreamConfig& config) {
  LearnerChange change;
  for (const std::string& key : keys) {
    if (IsOfSource(key)) continue;
    if (key == "model.learning_rate") {
      change.learning_rate = config.learner.optimizer.learning_rate;
    } else if (IsOptimizerOption(key)) {
      change.optimizer = config.learner.optimizer;
    } else {
      change.policy = config.flow.learning.policy;
    }
  }
  return change;
}

/// The change that rolls back `change`.
LearnerChange AsItIs(const LearnerChange& change, const CameraStream& stream) {
  const StreamSnapshot now = stream.Snapshot();
  LearnerChange before;
  if (change.learning_rate) before.learning_rate = now.learning_rate;
  if (change.policy) before.policy = now.policy;
  if (change.optimizer) before.optimizer = now.optimizer;
  return before;
}

/// An empty change succeeds even if the learner has failed.
absl::Status Apply(CameraStream& stream, const LearnerChange& change) {
  return change.is_empty() ? absl::OkStatus() : stream.Change(change);
}

}  // namespace

StreamChanges::StreamChanges(Options options)
    : options_(std::move(options)), claims_(options_.on_begin, options_.on_end) {
  MILLRACE_CHECK(options_.streams != nullptr && options_.events != nullptr && options_.start);
}

absl::StatusOr<SharedStream> StreamChanges::Create(const StreamConfig& config,
                                                   const std::stop_token& stop) {
  MILLRACE_ASSIGN_OR_RETURN(const Claims::Claim claim,
                            claims_.Take(config.name, stop, MaxWaiting(config.of_file)));
  MILLRACE_RETURN_IF_ERROR(MakeRoom());
  const absl::Cleanup made = [this] {
    const MutexLock lock(mu_);
    --being_made_;
  };
  // Checked first, because a start takes seconds.
  if (!config.name.empty() && options_.streams->Find(config.name).ok()) {
    return options_.streams->AlreadyExists(config.name);
  }
  MILLRACE_ASSIGN_OR_RETURN(SharedStream started, StartUnlessCancelled(config, stop));
  if (absl::Status added = options_.streams->Add(started); !added.ok()) {
    GiveUp(started);
    return added;
  }
  if (config.of_file) {
    const MutexLock lock(mu_);
    of_file_.insert(config.name);
  }
  options_.events->Happened(started->incarnation, StreamEvent::Kind::kCreated);
  return started;
}

// An empty name means the only stream at this moment, even if others appear while the call waits.
absl::StatusOr<Claims::Claim> StreamChanges::TakeTurn(Target& target) {
  if (target.name.empty()) {
    MILLRACE_ASSIGN_OR_RETURN(const SharedStream only, options_.streams->Find(""));
    target.name = only->stream->config().name;
  }
  return claims_.Take(target.name, target.stop, MaxWaiting(target.of_file));
}

absl::Status StreamChanges::MakeRoom() {
  const MutexLock lock(mu_);
  const std::size_t count = options_.streams->All().size() + being_made_;
  if (count >= options_.max_streams) {
    return WithReason("TOO_MANY_STREAMS", {{"limit", absl::StrCat(options_.max_streams)}},
                      absl::ResourceExhaustedError(absl::StrCat(
                          count == 1 ? "there is " : "there are ", Plural(count, "stream"),
                          ", and no room for more; delete one first")));
  }
  ++being_made_;
  return absl::OkStatus();
}

absl::StatusOr<SharedStream> StreamChanges::Start(const StreamConfig& config,
                                                  const std::stop_token& stop) const {
  return ExceptionToStatus([&] { return options_.start(config, stop); },
                           absl::StrCat("stream '", config.name, "' could not be started: "));
}

absl::StatusOr<SharedStream> StreamChanges::StartUnlessCancelled(
    const StreamConfig& config, const std::stop_token& stop) const {
  MILLRACE_ASSIGN_OR_RETURN(SharedStream started, Start(config, stop));
  if (!stop.stop_requested()) return started;
  GiveUp(started);
  return absl::CancelledError("the call was cancelled");
}

absl::Status StreamChanges::TakePlace(const SharedStream& started) const {
  absl::Status replaced = options_.streams->Replace(started);
  if (!replaced.ok()) {
    GiveUp(started);
    return replaced;
  }
  options_.events->Happened(started->incarnation, StreamEvent::Kind::kUpdated);
  return replaced;
}

void StreamChanges::GiveUp(const SharedStream& started) const {
  started->stream->Stop();
  options_.events->Forget(started->incarnation);
}

absl::StatusOr<SharedStream> StreamChanges::Update(Target target, const StreamConfig& config,
                                                   bool allow_reset) {
  return Update(
      std::move(target),
      [&config](const StreamConfig& /*now*/) -> absl::StatusOr<StreamConfig> { return config; },
      allow_reset);
}

absl::StatusOr<SharedStream> StreamChanges::Update(Target target, const Next& next,
                                                   bool allow_reset) {
  MILLRACE_ASSIGN_OR_RETURN(const Claims::Claim claim, TakeTurn(target));
  MILLRACE_ASSIGN_OR_RETURN(SharedStream old, Find(target));
  const StreamConfig now = old->config();
  MILLRACE_ASSIGN_OR_RETURN(const StreamConfig config, next(now));
  const bool dead = Dead(*old->stream);
  if (!dead && SameEntry(config.entry, now.entry) && config.effective == now.effective) return old;
  std::string refusal;
  if (const auto changed = ChangeWhileItLearns(*old, config, target.stop, refusal)) {
    MILLRACE_RETURN_IF_ERROR(*changed);
    return old;
  }
  // A dead stream can lose only its checkpoints.
  const bool forgets =
      !ShareAFolder(now, config) && !(dead && now.learner.checkpoints.folder.empty());
  if (forgets && !allow_reset) return WouldForget(target.name, refusal);
  return Restart(old, config, target.stop);
}

// Changes the learner first, because that change can be rolled back.
std::optional<absl::Status> StreamChanges::ChangeWhileItLearns(ServedStream& served,
                                                               const StreamConfig& config,
                                                               const std::stop_token& stop,
                                                               std::string& refusal) const {
  const std::vector<std::string> keys = DifferingKeys(served.config().effective, config.effective);
  const bool can = served.stream->running() && std::ranges::all_of(keys, CanChangeWhileItLearns);
  if (!can) return std::nullopt;
  const LearnerChange learning = LearnerChangeOf(keys, config);
  const LearnerChange before = AsItIs(learning, *served.stream);
  // Some learners cannot be changed, such as one made not to learn.
  if (const absl::Status applied = Apply(*served.stream, learning); !applied.ok()) {
    refusal = std::string(applied.message());
    return std::nullopt;
  }
  absl::Cleanup take_back = [&] { Apply(*served.stream, before).IgnoreError(); };
  if (std::ranges::any_of(keys, IsOfSource)) {
    MILLRACE_RETURN_IF_ERROR(ReplaceSource(served, config, stop));
  }
  std::move(take_back).Cancel();
  served.SetConfig(config);
  options_.events->Happened(served.incarnation, StreamEvent::Kind::kUpdated);
  return absl::OkStatus();
}

absl::Status StreamChanges::ReplaceSource(const ServedStream& served, const StreamConfig& config,
                                          const std::stop_token& stop) const {
  if (options_.admit) {
    MILLRACE_RETURN_IF_ERROR(options_.admit(config, *served.learner_as_made, stop));
  }
  // The model stays with its input size, which an earlier camera may have determined.
  ingest::SourceOptions source = config.source;
  source.stop = stop;
  source.width = served.stream->learner()->width;
  source.height = served.stream->learner()->height;
  return served.stream->ReplaceSource(source);
}

absl::StatusOr<SharedStream> StreamChanges::Restart(const SharedStream& old,
                                                    const StreamConfig& config,
                                                    const std::stop_token& stop) {
  if (ShareAFolder(old->config(), config)) return StopThenStart(old, config, {}, stop);
  return StartThenStop(old, config, stop);
}

absl::StatusOr<SharedStream> StreamChanges::StartThenStop(const SharedStream& old,
                                                          const StreamConfig& config,
                                                          const std::stop_token& stop) {
  MILLRACE_ASSIGN_OR_RETURN(SharedStream started, StartUnlessCancelled(config, stop));
  MILLRACE_RETURN_IF_ERROR(TakePlace(started));
  EndForChange(*old->stream);
  return started;
}

// Ignores a cancellation after the start. By then the new stream may have written checkpoints that
// the old one cannot use.
absl::StatusOr<SharedStream> StreamChanges::StopThenStart(const SharedStream& old,
                                                          const StreamConfig& config,
                                                          const RestartStep& step,
                                                          const std::stop_token& stop) {
  EndForChange(*old->stream);
  const absl::Status ready = step.apply();
  absl::StatusOr<SharedStream> started =
      ready.ok() ? Start(config, stop) : absl::StatusOr<SharedStream>(ready);
  if (!started.ok()) {
    if (ready.ok()) step.undo();
    StartAgain(old);
    return started.status();
  }
  // A failure means that the server stops. Its next start continues from the state of the old
  // incarnation.
  const absl::Status placed = TakePlace(*started);
  if (!placed.ok()) step.undo();
  MILLRACE_RETURN_IF_ERROR(placed);
  return started;
}

void StreamChanges::StartAgain(const SharedStream& old) {
  const absl::StatusOr<SharedStream> again = Start(old->config(), {});
  const absl::Status status = again.ok() ? TakePlace(*again) : again.status();
  if (status.ok() || absl::IsCancelled(status)) return;  // Cancelled: the server stops.
  const LogAbout about(old->stream->config().name);
  spdlog::error("stream '{}' could not be started again as it was: {}", old->stream->config().name,
                std::string(status.message()));
}

// `apply` runs once the stream has stopped using the checkpoints.
StreamChanges::RestartStep StreamChanges::SettingAside(const std::string& folder,
                                                       std::int64_t after, const std::string& why) {
  const std::string name = pipeline::AsideName(why);
  return {.apply = [=] { return pipeline::SetAside(folder, after, name); },
          .undo = [=] { pipeline::TakeBack(folder, after, name); }};
}

absl::StatusOr<SharedStream> StreamChanges::Reset(Target target) {
  MILLRACE_ASSIGN_OR_RETURN(const Claims::Claim claim, TakeTurn(target));
  MILLRACE_ASSIGN_OR_RETURN(const SharedStream old, Find(target));
  const StreamConfig config = old->config();
  const std::string folder = config.learner.checkpoints.folder;
  if (folder.empty()) return StartThenStop(old, config, target.stop);
  return StopThenStart(old, config, SettingAside(folder, -1, "reset"), target.stop);
}

absl::StatusOr<pipeline::CheckpointInfo> StreamChanges::Restore(Target target,
                                                                const std::string& name) {
  MILLRACE_ASSIGN_OR_RETURN(const Claims::Claim claim, TakeTurn(target));
  MILLRACE_ASSIGN_OR_RETURN(const SharedStream old, Find(target));
  const StreamConfig config = old->config();
  MILLRACE_ASSIGN_OR_RETURN(const pipeline::CheckpointInfo found, FindCheckpoint(config, name));
  const std::string folder = config.learner.checkpoints.folder;
  const std::string path = absl::StrCat(folder, "/", name);
  // Otherwise the old incarnation, which still writes checkpoints, could remove this one as
  // surplus.
  if (!found.kept) MILLRACE_RETURN_IF_ERROR(pipeline::Keep(path));
  const absl::Cleanup let_go = [&] {
    if (!found.kept) pipeline::KeepNoLonger(path);
  };
  MILLRACE_RETURN_IF_ERROR(pipeline::CheckWhole(path));
  RestartStep step = SettingAside(folder, found.sample, "restored");
  // The checkpoint may have been removed just before Keep().
  step.apply = [&, set_aside = std::move(step.apply)]() -> absl::Status {
    MILLRACE_RETURN_IF_ERROR(FindCheckpoint(config, name).status());
    return set_aside();
  };
  MILLRACE_RETURN_IF_ERROR(StopThenStart(old, config, step, {}).status());
  return found;
}

absl::Status StreamChanges::MakeAnew(
    const std::string& name,
    const std::function<std::optional<StreamConfig>(const ServedStream& now)>& next) {
  MILLRACE_ASSIGN_OR_RETURN(const Claims::Claim claim, claims_.Take(name, {}));
  MILLRACE_ASSIGN_OR_RETURN(const SharedStream old, Find({.name = name}));
  const std::optional<StreamConfig> config = next(*old);
  return config ? Restart(old, *config, {}).status() : absl::OkStatus();
}

absl::Status StreamChanges::WithoutChange(const std::string& name, const std::stop_token& stop,
                                          const std::function<absl::Status()>& act) {
  MILLRACE_ASSIGN_OR_RETURN(const Claims::Claim claim, claims_.Take(name, stop, kMaxWaiting));
  return act();
}

absl::StatusOr<SharedStream> StreamChanges::Delete(Target target) {
  MILLRACE_ASSIGN_OR_RETURN(const Claims::Claim claim, TakeTurn(target));
  MILLRACE_ASSIGN_OR_RETURN(SharedStream stream, Find(target));
  options_.streams->Remove(stream);
  {
    const MutexLock lock(mu_);
    of_file_.erase(target.name);
  }
  stream->stream->Stop();
  RemoveFolderIfEmpty(stream->stream->config());
  options_.events->Happened(stream->incarnation, StreamEvent::Kind::kDeleted);
  return stream;
}

bool StreamChanges::IsOfFile(const std::string& name) const {
  const MutexLock lock(mu_);
  return of_file_.contains(name);
}

absl::StatusOr<SharedStream> StreamChanges::Find(const Target& target) const {
  MILLRACE_ASSIGN_OR_RETURN(SharedStream stream, options_.streams->Find(target.name));
  if (target.of_file && !IsOfFile(target.name)) {
    return absl::AlreadyExistsError(
        absl::StrCat("a client has added a stream '", target.name, "', which stays"));
  }
  const std::string etag = EtagOf(stream->config().entry);
  if (!target.etag.empty() && target.etag != etag) {
    return WithReason("ETAG_MISMATCH", {{"stream", target.name}, {"etag", etag}},
                      absl::AbortedError(absl::StrCat(
                          "stream '", target.name,
                          "' was changed by somebody else meanwhile; get it and try again")));
  }
  return stream;
}

}  // namespace millrace::service
