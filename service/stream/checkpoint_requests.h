// Who waits for checkpoints that were asked for: told when they are written, and logs when they
// begin to fail.
//
//   Ask ─▶ the learner is asked ─▶ waits ─▶ OnWritten    its name, or why it could not be written
//                                        ─▶ the token    nobody wants it any more
//                                        ─▶ GiveUp       no weights prove good for now
//                                        ─▶ Close        none will any more
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "pipeline/learner/learner.h"

namespace millrace::service {

/// Told the name of the checkpoint that was asked for, or why there is none. Called once, from any
/// thread, so it must be quick.
using OnCheckpoint = std::function<void(const absl::StatusOr<std::string>& name)>;

/// Of one stream. No thread waits. Thread-safe; calls out without its lock.
class CheckpointRequests {
 public:
  /// `stream`: for the log.
  explicit CheckpointRequests(std::string stream) : stream_(std::move(stream)) {}

  /// CheckpointOptions::on_write.
  void OnWritten(const pipeline::CheckpointWritten& written) ABSL_LOCKS_EXCLUDED(mu_);

  /// Asks `learner` for a checkpoint, and has `done` told what came of it: UNAVAILABLE where too
  /// many wait already, CANCELLED once `stop` says so, and what Close() and GiveUp() are given. One
  /// who stops waiting does not stop the checkpoint.
  void Ask(pipeline::Learner& learner, const std::stop_token& stop, OnCheckpoint done)
      ABSL_LOCKS_EXCLUDED(mu_);

  /// All who wait now are told `why`.
  void GiveUp(const absl::Status& why) ABSL_LOCKS_EXCLUDED(mu_);

  /// None will be written any more: all who wait, and who come later, are told `why`, but only that
  /// of the first call.
  void Close(const absl::Status& why) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  struct Wait {
    explicit Wait(OnCheckpoint the_done) : done(std::move(the_done)) {}

    const OnCheckpoint done;
    /// Nothing until the learner has been asked.
    std::optional<std::int64_t> number;
    std::optional<std::stop_callback<std::function<void()>>> on_stop;
  };
  /// Shared by the list and by whoever ends it, who may come from its own stop callback.
  using SharedWait = std::shared_ptr<Wait>;
  using Waits = std::list<SharedWait>;

  void NoteInLog(const absl::Status& written) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  [[nodiscard]] absl::Status Add(const SharedWait& wait) ABSL_LOCKS_EXCLUDED(mu_);
  /// What is known already of the request `number`; nothing: it waits from now on.
  [[nodiscard]] std::optional<absl::StatusOr<std::string>> Begin(Wait& wait, std::int64_t number)
      ABSL_LOCKS_EXCLUDED(mu_);
  /// Nothing happens if it has ended before.
  void End(const Wait* wait, const absl::StatusOr<std::string>& result) ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] Waits TakeAll() ABSL_LOCKS_EXCLUDED(mu_);

  const std::string stream_;

  Mutex mu_;
  absl::Status last_ ABSL_GUARDED_BY(mu_);
  // Of the requests up to this one, what came of them.
  std::int64_t answered_ ABSL_GUARDED_BY(mu_) = 0;
  absl::StatusOr<std::string> answer_ ABSL_GUARDED_BY(mu_);
  absl::Status closed_ ABSL_GUARDED_BY(mu_);  // OK: it is not.
  Waits waits_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millrace::service
