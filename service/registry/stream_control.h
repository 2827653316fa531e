// Adds, changes and deletes camera streams while the server runs.
//
//   Create   start ─▶ add
//   Update   of the source, the learning rate or the learning policy alone: the learner stays
//            of anything else: the stream is made anew
//   Delete   take out ─▶ stop
//
// A change that fails loses nothing. So the order of a stream that is made anew depends on its
// folder of checkpoints, which two lives cannot have at the same time.
//
//   no folder in common   start ─▶ replace ─▶ stop the old one
//                         Both run for a moment: there must be room for both, and the camera serves
//                         two viewers. A new one that cannot start leaves the old one untouched.
//   the same folder       stop ─▶ start ─▶ replace
//                         The folder keeps what was learned. Where the new one cannot start, the
//                         old one is started again, from there.
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
#include "service/registry/stream_events.h"
#include "service/registry/streams.h"

namespace millrace::service {

/// One change of a stream runs at a time, and changes of other streams at the same time. The calls
/// for one stream run in their order, and each takes as long as a stream takes to start and to
/// stop: seconds. A client's call that finds kMostWaiting others waiting for its stream fails with
/// TOO_MANY_CHANGES, so that a stream that hangs does not keep every thread of clients' calls. No
/// lock is held meanwhile. Thread-safe.
class StreamControl {
 public:
  static constexpr std::size_t kMostWaiting = 4;

  struct Options {
    /// Both must outlive it.
    Streams* streams = nullptr;
    StreamEvents* events = nullptr;
    /// Starts a stream, of which `events` has a life. Gives up once `config.learner.stop` is
    /// requested.
    std::function<absl::StatusOr<SharedStream>(const StreamConfig& config)> start = {};
    /// Whether a stream that keeps its learner may become what `config` says. May be empty. `start`
    /// decides about a stream that is made anew.
    std::function<absl::Status(const StreamConfig& config,
                               const pipeline::LearnerDescription& learner)>
        admit = {};
    /// A change of a stream calls `begins` first and `ends` last, with the stream's name. May be
    /// empty.
    Claims::Tell begins = {};
    Claims::Tell ends = {};
    std::size_t most_streams = 64;
  };

  /// The stream that a change is meant for.
  struct Target {
    /// Empty: the only stream, as Streams::Find() has it when the call begins.
    std::string name;
    /// Of its entry, as the client knows it. Empty: any.
    std::string etag = {};
    /// The configuration file's stream. The change fails with ALREADY_EXISTS where a client has
    /// added another of its name, and waits however many others do.
    bool of_file = false;
    /// Ends the wait for the changes before: CANCELLED.
    std::stop_token stop = {};
  };
  /// Makes the next configuration from the present one. Fails as Update() is to fail. It must not
  /// call in here.
  using Next = std::function<absl::StatusOr<StreamConfig>(const StreamConfig& now)>;

  explicit StreamControl(Options options);

  StreamControl(const StreamControl&) = delete;
  StreamControl& operator=(const StreamControl&) = delete;

  /// Starts and adds a stream. Fails with ALREADY_EXISTS; with RESOURCE_EXHAUSTED beyond
  /// `most_streams`; with CANCELLED once `config.learner.stop` is requested, even in the last
  /// moment; and as `start` does. Then nothing is left of the stream.
  [[nodiscard]] absl::StatusOr<SharedStream> Create(const StreamConfig& config)
      ABSL_LOCKS_EXCLUDED(mu_);

  /// Changes a stream to `config`. Fails with NOT_FOUND; with ABORTED if its etag is another one;
  /// with FAILED_PRECONDITION if the change would lose what was learned and `allow_reset` is not
  /// set; with CANCELLED as Create(); and as `start`, `admit` and `open_source` do. Then the stream
  /// is as it was before: with its weights, or from its last checkpoint if the change had stopped
  /// it. A stream that cannot be started again stays, stopped, and the next change starts it, even
  /// a change to the configuration that it has.
  [[nodiscard]] absl::StatusOr<SharedStream> Update(Target target, const StreamConfig& config,
                                                    bool allow_reset) ABSL_LOCKS_EXCLUDED(mu_);
  /// The same, with the configuration that `next` returns. No other change of the stream runs
  /// between the two.
  [[nodiscard]] absl::StatusOr<SharedStream> Update(Target target, const Next& next,
                                                    bool allow_reset) ABSL_LOCKS_EXCLUDED(mu_);

  /// Makes a stream anew with the weights of its configuration, even one that has failed or ended.
  /// Sets its checkpoints aside, in a folder `reset-` and the time. Fails with NOT_FOUND and
  /// ABORTED; with CANCELLED as Create(), of `target.stop`; as `start` does; and as the system does
  /// where the checkpoints cannot be moved. Then the stream is as after an Update() that failed.
  [[nodiscard]] absl::StatusOr<SharedStream> Reset(Target target) ABSL_LOCKS_EXCLUDED(mu_);

  /// Makes a stream anew from the checkpoint `name`, which it returns. Sets newer ones aside, in a
  /// folder `restored-` and the time. A restore that has begun is finished. Fails as Reset(); with
  /// FAILED_PRECONDITION if the stream keeps no checkpoints; with NOT_FOUND if there is no such
  /// checkpoint; and with DATA_LOSS if it is damaged.
  [[nodiscard]] absl::StatusOr<pipeline::CheckpointInfo> Restore(Target target,
                                                                 const std::string& name)
      ABSL_LOCKS_EXCLUDED(mu_);

  /// Restarts the stream `name` with the configuration that `next` returns; nullopt leaves it as it
  /// is. No other change runs between the two. Checkpoints stay. Waits however many others do.
  /// Fails as Reset().
  [[nodiscard]] absl::Status MakeAnew(
      const std::string& name,
      const std::function<std::optional<StreamConfig>(const ServedStream& now)>& next)
      ABSL_LOCKS_EXCLUDED(mu_);

  /// Calls `act` while no change of the stream `name` runs, its creation included. Fails with
  /// CANCELLED once `stop` is requested before its turn, and as `act` does.
  [[nodiscard]] absl::Status WithoutChange(const std::string& name, const std::stop_token& stop,
                                           const std::function<absl::Status()>& act);

  /// Takes a stream out, stops it and returns it. Fails with NOT_FOUND and ABORTED.
  [[nodiscard]] absl::StatusOr<SharedStream> Delete(Target target) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  /// Steps between the stop of the old stream and the start of the new one; `undo` runs if the new
  /// one cannot start.
  struct Between {
    std::function<absl::Status()> make = [] { return absl::OkStatus(); };
    std::function<void()> undo = [] {};
  };

  /// Sets the name of the only stream where `target` has none.
  [[nodiscard]] absl::StatusOr<Claims::Claim> TakeTurn(Target& target);
  /// Counts one more stream that is being made. Fails with RESOURCE_EXHAUSTED beyond
  /// `most_streams`.
  [[nodiscard]] absl::Status MakeRoom() ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] bool IsOfFile(const std::string& name) const ABSL_LOCKS_EXCLUDED(mu_);

  // REQUIRES, of all that follows: the caller has claimed the stream.

  [[nodiscard]] absl::StatusOr<SharedStream> Find(const Target& target) const
      ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] static Between SettingAside(const std::string& folder, std::int64_t after,
                                            const std::string& why);
  /// As `start`. What that throws is INTERNAL.
  [[nodiscard]] absl::StatusOr<SharedStream> Start(const StreamConfig& config) const;
  /// As Start(). Stops a stream again whose call was cancelled meanwhile.
  [[nodiscard]] absl::StatusOr<SharedStream> StartUnlessCancelled(const StreamConfig& config) const;
  /// Replaces the stream of its name by `started`. Stops `started` and fails with CANCELLED where
  /// the server has stopped.
  [[nodiscard]] absl::Status TakePlace(const SharedStream& started) const;
  /// Stops a stream of which no watcher was told.
  void GiveUp(const SharedStream& started) const;

  /// Changes a stream to `config` while its learner goes on. Fails as Update(), and then the stream
  /// is as it was. Absent: the change takes a new learner.
  [[nodiscard]] std::optional<absl::Status> ChangeWhileItLearns(ServedStream& served,
                                                                const StreamConfig& config) const;
  [[nodiscard]] absl::Status ReplaceSource(const ServedStream& served,
                                           const StreamConfig& config) const;
  /// Makes `old` anew, in the order that it allows.
  [[nodiscard]] absl::StatusOr<SharedStream> Restart(const SharedStream& old,
                                                     const StreamConfig& config);
  [[nodiscard]] absl::StatusOr<SharedStream> StartThenStop(const SharedStream& old,
                                                           const StreamConfig& config);
  /// Fails as `between.make`, too.
  [[nodiscard]] absl::StatusOr<SharedStream> StopThenStart(const SharedStream& old,
                                                           const StreamConfig& config,
                                                           const Between& between);
  void StartAgain(const SharedStream& old);

  // Constant after construction.
  const Options options_;

  // Self-synchronized. By the streams' names: a change of a stream holds its claim.
  Claims claims_;

  mutable Mutex mu_;
  /// Names of the streams that the configuration file has added, changed by clients or not.
  std::set<std::string> of_file_ ABSL_GUARDED_BY(mu_);
  std::size_t being_made_ ABSL_GUARDED_BY(mu_) = 0;  ///< Streams that Create() has not added yet.
};

}  // namespace millrace::service
