#include "service/stream_control.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/check.h"
#include "base/status.h"
#include "pipeline/checkpoint_folders.h"
#include "service/checkpoints_of_stream.h"
#include "service/config_entry.h"
#include "service/error_reason.h"
#include "spdlog/spdlog.h"

namespace millrace::service {
namespace {

/// Whether a stream of `next` goes on from what one of `now` has learned.
bool KeepsWhatItLearned(const StreamConfig& now, const StreamConfig& next) {
  const std::string& folder = now.learner.checkpoints.folder;
  return !folder.empty() && folder == next.learner.checkpoints.folder;
}

absl::Status WouldForget(const std::string& name) {
  return Because(
      "WOULD_FORGET", {{"stream", name}},
      absl::FailedPreconditionError(absl::StrCat(
          "stream '", name,
          "' keeps no checkpoints: what it has learned would be lost by this change. Set "
          "allow_reset to make it all the same, or set checkpoints.folder when adding a stream")));
}

std::string TimeNow() {
  return absl::FormatTime("%Y%m%dT%H%M%E3SZ", absl::Now(), absl::UTCTimeZone());
}

}  // namespace

StreamControl::StreamControl(Options options) : options_(std::move(options)) {
  MILLRACE_CHECK(options_.streams != nullptr && options_.events != nullptr && options_.start);
}

absl::StatusOr<SharedStream> StreamControl::Create(const StreamConfig& config) {
  const MutexLock lock(busy_);
  const std::size_t count = options_.streams->All().size();
  if (count >= options_.most_streams) {
    return Because("TOO_MANY_STREAMS", {{"limit", absl::StrCat(options_.most_streams)}},
                   absl::ResourceExhaustedError(absl::StrCat(
                       "there are ", count, " streams, and no room for more; delete one first")));
  }
  // Looked for before seconds are spent on it.
  if (!config.name.empty() && options_.streams->Find(config.name).ok()) {
    return options_.streams->AlreadyExists(config.name);
  }
  absl::StatusOr<SharedStream> started = options_.start(config);
  absl::Status status = started.status();
  if (status.ok()) status = options_.streams->Add(*started);
  if (!status.ok()) {
    if (started.ok()) (*started)->stream->Stop();
    options_.events->Forget(config.name);
    return status;
  }
  options_.events->Happened(config.name, StreamEvent::Kind::kCreated);
  return started;
}

absl::StatusOr<SharedStream> StreamControl::Update(const Target& target, const StreamConfig& config,
                                                   bool allow_reset) {
  const MutexLock lock(busy_);
  MILLRACE_ASSIGN_OR_RETURN(SharedStream old, Find(target));
  const StreamConfig now = old->config();
  if (config.entry == now.entry) return old;
  if (DifferInSourceOnly(config.entry, now.entry) && !old->stream->ended()) {
    MILLRACE_RETURN_IF_ERROR(old->stream->ReplaceSource(config.source));
    old->SetConfig(config);
    options_.events->Happened(target.name, StreamEvent::Kind::kUpdated);
    return old;
  }
  if (!allow_reset && !KeepsWhatItLearned(now, config)) return WouldForget(target.name);
  return Restart(old, config, {});
}

absl::StatusOr<SharedStream> StreamControl::Restart(const SharedStream& old,
                                                    const StreamConfig& config,
                                                    const Between& between) {
  old->stream->ring().EndWith(
      Because("STREAM_CHANGED", {{"stream", config.name}},
              absl::UnavailableError(absl::StrCat("stream '", config.name,
                                                  "' is made anew by a change; subscribe again"))));
  old->stream->Stop();
  const absl::Status ready = between.make();
  absl::StatusOr<SharedStream> started =
      ready.ok() ? options_.start(config) : absl::StatusOr<SharedStream>(ready);
  if (started.ok()) {
    options_.streams->Replace(*started);
    options_.events->Happened(config.name, StreamEvent::Kind::kUpdated);
    return started;
  }
  if (ready.ok()) between.undo();
  StreamConfig before = old->config();
  before.learner.stop = before.source.stop = {};
  absl::StatusOr<SharedStream> again = options_.start(before);
  if (again.ok()) {
    options_.streams->Replace(*again);
  } else {
    spdlog::error("stream '{}' could not be started again as it was: {}", config.name,
                  std::string(again.status().message()));
  }
  return started.status();
}

// Once the stream has let go of them.
StreamControl::Between StreamControl::SettingAside(const std::string& folder, std::int64_t after,
                                                   const std::string& why) {
  if (folder.empty()) return {};
  const std::string name = absl::StrCat(why, "-", TimeNow());
  return {.make = [=] { return pipeline::SetAside(folder, after, name); },
          .undo = [=] { pipeline::TakeBack(folder, name); }};
}

absl::StatusOr<SharedStream> StreamControl::Reset(const Target& target) {
  const MutexLock lock(busy_);
  MILLRACE_ASSIGN_OR_RETURN(const SharedStream old, Find(target));
  const StreamConfig config = old->config();
  return Restart(old, config, SettingAside(config.learner.checkpoints.folder, -1, "reset"));
}

absl::StatusOr<SharedStream> StreamControl::Restore(const Target& target, const std::string& name) {
  const MutexLock lock(busy_);
  MILLRACE_ASSIGN_OR_RETURN(const SharedStream old, Find(target));
  const StreamConfig config = old->config();
  MILLRACE_ASSIGN_OR_RETURN(const pipeline::CheckpointInfo found, FindCheckpoint(config, name));
  const std::string& folder = config.learner.checkpoints.folder;
  MILLRACE_RETURN_IF_ERROR(pipeline::CheckWhole(absl::StrCat(folder, "/", name)));
  return Restart(old, config, SettingAside(folder, found.sample, "restored"));
}

absl::StatusOr<SharedStream> StreamControl::Delete(const Target& target) {
  const MutexLock lock(busy_);
  MILLRACE_ASSIGN_OR_RETURN(SharedStream stream, Find(target));
  options_.streams->Remove(stream);
  stream->stream->Stop();
  options_.events->Happened(target.name, StreamEvent::Kind::kDeleted);
  return stream;
}

absl::StatusOr<SharedStream> StreamControl::Find(const Target& target) const {
  MILLRACE_ASSIGN_OR_RETURN(SharedStream stream, options_.streams->Find(target.name));
  const std::string etag = EtagOf(stream->config().entry);
  if (!target.etag.empty() && target.etag != etag) {
    return Because("ETAG_MISMATCH", {{"stream", target.name}, {"etag", etag}},
                   absl::AbortedError(absl::StrCat(
                       "stream '", target.name,
                       "' was changed by somebody else meanwhile; get it and try again")));
  }
  return stream;
}

}  // namespace millrace::service
