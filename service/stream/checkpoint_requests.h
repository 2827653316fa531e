// Requests for checkpoints. Reports the result of each, and logs when writing starts or stops to
// fail.
//
//   Ask ─▶ the learner is asked ─▶ waits ─▶ OnWritten    its name, or the error of writing
//                                        ─▶ the token    the request is cancelled
//                                        ─▶ GiveUp       no weights are validated for now
//                                        ─▶ Close        no checkpoints any more
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

/// Receives the checkpoint's name or the error. Called once, on any thread, so it must return
/// quickly.
using OnCheckpoint = std::function<void(const absl::StatusOr<std::string>& name)>;

/// The requests of one stream. No thread blocks. Thread-safe; calls `done` without its lock.
class CheckpointRequests {
 public:
  /// `stream` is for the log.
  explicit CheckpointRequests(std::string stream) : stream_(std::move(stream)) {}

  /// LearnerHooks::on_write.
  void OnWritten(const pipeline::CheckpointWritten& written) ABSL_LOCKS_EXCLUDED(mu_);

  /// Requests a checkpoint from `learner`. Calls `done` with the result: UNAVAILABLE if too many
  /// requests wait, CANCELLED after a request by `stop`, or the status from Close() or GiveUp(). A
  /// cancelled request does not cancel the checkpoint.
  void Ask(pipeline::Learner& learner, const std::stop_token& stop, OnCheckpoint done)
      ABSL_LOCKS_EXCLUDED(mu_);

  /// Ends all waiting requests with `why`.
  void GiveUp(const absl::Status& why) ABSL_LOCKS_EXCLUDED(mu_);

  /// No more checkpoints will be written: ends all waiting and future requests with `why`. The
  /// first call's `why` counts.
  void Close(const absl::Status& why) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  struct Wait {
    explicit Wait(OnCheckpoint the_done) : done(std::move(the_done)) {}

    const OnCheckpoint done;
    /// nullopt until the learner has been asked.
    std::optional<std::int64_t> number;
    std::optional<std::stop_callback<std::function<void()>>> on_stop;
  };
  /// Shared by the list and the thread that ends the wait, which may run the wait's own stop
  /// callback.
  using SharedWait = std::shared_ptr<Wait>;
  using Waits = std::list<SharedWait>;

  void NoteInLog(const absl::Status& written) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  [[nodiscard]] absl::Status Add(const SharedWait& wait) ABSL_LOCKS_EXCLUDED(mu_);
  /// The result of the request `number` if it is already known. nullopt: the request waits.
  [[nodiscard]] std::optional<absl::StatusOr<std::string>> Begin(Wait& wait, std::int64_t number)
      ABSL_LOCKS_EXCLUDED(mu_);
  /// Has no effect if the wait has already ended.
  void End(const Wait* wait, const absl::StatusOr<std::string>& result) ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] Waits TakeAll() ABSL_LOCKS_EXCLUDED(mu_);

  const std::string stream_;

  Mutex mu_;
  absl::Status last_ ABSL_GUARDED_BY(mu_);
  // The result for all requests up to this number.
  std::int64_t answered_ ABSL_GUARDED_BY(mu_) = 0;
  absl::StatusOr<std::string> answer_ ABSL_GUARDED_BY(mu_);
  absl::Status closed_ ABSL_GUARDED_BY(mu_);  // OK: not closed.
  Waits waits_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millrace::service
