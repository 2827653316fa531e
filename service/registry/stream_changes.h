// Adds, changes and deletes camera streams while the server runs.
//
//   Create   start ─▶ add
//   Update   of the source, the learning rate, the optimizer's options or the learning policy
//            alone: the learner stays
//            of anything else: the stream is restarted
//   Delete   remove ─▶ stop
//
// A failed change loses nothing. Two incarnations of a stream cannot use one folder of checkpoints
// at the same time, so the order of a restart depends on the folder.
//
//   no shared folder      start ─▶ replace ─▶ stop the old one
//                         Both run for a moment: the devices need capacity for both, and the camera
//                         serves two clients. If the new one cannot start, the old one stays.
//   the same folder       stop ─▶ start ─▶ replace
//                         The folder keeps the learned weights. If the new one cannot start, the
//                         old one starts again from there.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <stop_token>
#include <string>

#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "pipeline/checkpoint/checkpoint_folders.h"
#include "service/config/config.h"
#include "service/registry/claims.h"
#include "service/registry/stream_event_log.h"
#include "service/registry/stream_registry.h"

namespace millrace::service {

/// Changes of one stream run one at a time, in the order of the calls. Changes of different streams
/// run concurrently. Each takes seconds: the time that a stream needs to start and stop. A client's
/// call fails with TOO_MANY_CHANGES if kMaxWaiting other calls wait for its stream. So a stream
/// that hangs cannot block every thread for client calls. No lock is held during a change.
/// Thread-safe.
class StreamChanges {
 public:
  static constexpr std::size_t kMaxWaiting = 4;

  struct Options {
    /// Both must outlive the StreamChanges.
    StreamRegistry* streams = nullptr;
    StreamEventLog* events = nullptr;
    /// Starts a stream and begins an incarnation in `events`. Stops early once `stop` is requested.
    std::function<absl::StatusOr<SharedStream>(const StreamConfig& config,
                                               const std::stop_token& stop)>
        start = {};
    /// Whether a stream that keeps its learner may change to `config`. May be empty. `start`
    /// decides about restarts. Ends early once `stop` is requested.
    std::function<absl::Status(const StreamConfig& config,
                               const pipeline::LearnerDescription& learner,
                               const std::stop_token& stop)>
        admit = {};
    /// Called with the stream's name at the beginning and the end of each change. May be empty.
    Claims::Observer on_begin = {};
    Claims::Observer on_end = {};
    std::size_t max_streams = 64;
  };

  /// The stream to change.
  struct Target {
    /// Empty: the only stream, as StreamRegistry::Find() returns it when the call begins.
    std::string name;
    /// The etag of the entry that the client knows. Empty: any.
    std::string etag = {};
    /// Whether the change is for the configuration file's stream. Such a change fails with
    /// ALREADY_EXISTS if a client has added a stream of that name. It may wait behind any number of
    /// calls.
    bool of_file = false;
    /// Ends the wait for earlier changes, and the start of a stream, with CANCELLED.
    std::stop_token stop = {};
  };
  /// Makes the new configuration from the present one. Update() returns its error. It must not call
  /// this StreamChanges.
  using Next = std::function<absl::StatusOr<StreamConfig>(const StreamConfig& now)>;

  explicit StreamChanges(Options options);

  StreamChanges(const StreamChanges&) = delete;
  StreamChanges& operator=(const StreamChanges&) = delete;

  /// Starts and adds a stream. Fails with ALREADY_EXISTS, with RESOURCE_EXHAUSTED beyond
  /// `max_streams`, with CANCELLED once `stop` is requested, and as `start` does. A
  /// failure leaves nothing of the stream.
  [[nodiscard]] absl::StatusOr<SharedStream> Create(const StreamConfig& config,
                                                    const std::stop_token& stop = {})
      ABSL_LOCKS_EXCLUDED(mu_);

  /// Changes a stream to `config`. Fails with NOT_FOUND. Fails with ABORTED if the etag differs.
  /// Fails with FAILED_PRECONDITION if the change would lose learned weights and `allow_reset` is
  /// not set. Fails with CANCELLED as Create() does (for `target.stop`), and as `start`, `admit`
  /// and CameraStream::ReplaceSource() do.
  ///
  /// After a failure the stream is as before: with its weights, or from its last checkpoint if the
  /// change had stopped it. A stream that cannot start again stays in the registry, stopped. The
  /// next change starts it, even a change to the same configuration.
  [[nodiscard]] absl::StatusOr<SharedStream> Update(Target target, const StreamConfig& config,
                                                    bool allow_reset) ABSL_LOCKS_EXCLUDED(mu_);
  /// Like the above, with the configuration that `next` returns. No other change of the stream runs
  /// between `next` and the change.
  [[nodiscard]] absl::StatusOr<SharedStream> Update(Target target, const Next& next,
                                                    bool allow_reset) ABSL_LOCKS_EXCLUDED(mu_);

  /// Restarts a stream with the weights of its configuration, even after a failure or its end.
  /// Moves its checkpoints into a folder named `reset-` and the time. Fails with NOT_FOUND and
  /// ABORTED, with CANCELLED as Create() does (for `target.stop`), and as `start` does. Fails with
  /// the system's error if the checkpoints cannot be moved. After a failure the stream is as after
  /// a failed Update().
  [[nodiscard]] absl::StatusOr<SharedStream> Reset(Target target) ABSL_LOCKS_EXCLUDED(mu_);

  /// Restarts a stream from the checkpoint `name`, and returns that checkpoint. Moves newer
  /// checkpoints into a folder named `restored-` and the time. A restore that has begun is not
  /// cancelled. Fails as Reset() does. Fails with FAILED_PRECONDITION if the stream keeps no
  /// checkpoints, with NOT_FOUND if the checkpoint does not exist, and with DATA_LOSS if it is
  /// damaged.
  [[nodiscard]] absl::StatusOr<pipeline::CheckpointInfo> Restore(Target target,
                                                                 const std::string& name)
      ABSL_LOCKS_EXCLUDED(mu_);

  /// Restarts the stream `name` with the configuration that `next` returns; nullopt means no
  /// restart. No other change runs between the two. Checkpoints stay. May wait behind any number of
  /// calls. Fails as Reset() does.
  [[nodiscard]] absl::Status MakeAnew(
      const std::string& name,
      const std::function<std::optional<StreamConfig>(const ServedStream& now)>& next)
      ABSL_LOCKS_EXCLUDED(mu_);

  /// Calls `act` while no change of the stream `name` runs, not even its creation. Fails with
  /// CANCELLED if `stop` is requested before its turn, and as `act` does.
  [[nodiscard]] absl::Status WithoutChange(const std::string& name, const std::stop_token& stop,
                                           const std::function<absl::Status()>& act);

  /// Removes a stream, stops it and returns it. Fails with NOT_FOUND and ABORTED.
  [[nodiscard]] absl::StatusOr<SharedStream> Delete(Target target) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  /// A step between the stop of the old stream and the start of the new one. `undo` runs if the new
  /// one cannot start.
  struct RestartStep {
    std::function<absl::Status()> apply = [] { return absl::OkStatus(); };
    std::function<void()> undo = [] {};
  };

  /// Claims the stream of `target`. Sets an empty name to that of the only stream.
  [[nodiscard]] absl::StatusOr<Claims::Claim> TakeTurn(Target& target);
  /// Reserves a place for a new stream. RESOURCE_EXHAUSTED beyond `max_streams`.
  [[nodiscard]] absl::Status MakeRoom() ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] bool IsOfFile(const std::string& name) const ABSL_LOCKS_EXCLUDED(mu_);

  // For all functions below, REQUIRES: the caller has claimed the stream.

  [[nodiscard]] absl::StatusOr<SharedStream> Find(const Target& target) const
      ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] static RestartStep SettingAside(const std::string& folder, std::int64_t after,
                                                const std::string& why);
  /// Calls `start`. Returns an exception as INTERNAL.
  [[nodiscard]] absl::StatusOr<SharedStream> Start(const StreamConfig& config,
                                                   const std::stop_token& stop) const;
  /// Like Start(). If the call was cancelled meanwhile, stops the stream and fails.
  [[nodiscard]] absl::StatusOr<SharedStream> StartUnlessCancelled(
      const StreamConfig& config, const std::stop_token& stop) const;
  /// Replaces the stream of the same name by `started`. If the server has stopped, stops `started`
  /// and fails with CANCELLED.
  [[nodiscard]] absl::Status TakePlace(const SharedStream& started) const;
  /// Stops a stream that no watcher has seen.
  void GiveUp(const SharedStream& started) const;

  /// Changes a stream to `config` without a restart. Fails as Update() does; then the stream is as
  /// before. Nullopt: the change needs a new learner. `refusal` then has the learner's reason, if
  /// it has one.
  [[nodiscard]] std::optional<absl::Status> ChangeWhileItLearns(ServedStream& served,
                                                                const StreamConfig& config,
                                                                const std::stop_token& stop,
                                                                std::string& refusal) const;
  [[nodiscard]] absl::Status ReplaceSource(const ServedStream& served, const StreamConfig& config,
                                           const std::stop_token& stop) const;
  /// Restarts `old` with `config`, in the order that its folder requires.
  [[nodiscard]] absl::StatusOr<SharedStream> Restart(const SharedStream& old,
                                                     const StreamConfig& config,
                                                     const std::stop_token& stop);
  [[nodiscard]] absl::StatusOr<SharedStream> StartThenStop(const SharedStream& old,
                                                           const StreamConfig& config,
                                                           const std::stop_token& stop);
  /// Fails also as `step.apply` does.
  [[nodiscard]] absl::StatusOr<SharedStream> StopThenStart(const SharedStream& old,
                                                           const StreamConfig& config,
                                                           const RestartStep& step,
                                                           const std::stop_token& stop);
  void StartAgain(const SharedStream& old);

  // Constant after construction.
  const Options options_;

  // Self-synchronized. By stream name: a change of a stream holds its claim.
  Claims claims_;

  mutable Mutex mu_;
  /// Names of the streams that the configuration file has added, even if clients have changed them.
  std::set<std::string> of_file_ ABSL_GUARDED_BY(mu_);
  std::size_t being_made_ ABSL_GUARDED_BY(mu_) = 0;  ///< Streams that Create() has not yet added.
};

}  // namespace millrace::service
