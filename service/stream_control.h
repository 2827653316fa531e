// Adds, changes and deletes camera streams while the server runs.
//
//   Create   start ─▶ add                     Delete   take out ─▶ stop
//   Update   of nothing but the source, the learning rate, and from which frames it learns: the
//            learner stays, another source takes the seat, and the learner is told
//            of anything else: the stream is made anew
//
// Made anew, a stream is to lose nothing if that fails. What both lives need for themselves alone
// decides how: only the folder of checkpoints is such a thing (a second life cannot have it before
// the first has let go).
//
//   no folder in common   start ─▶ take its place ─▶ stop the old one
//                         For a moment both run, so there must be room for both, and a camera is
//                         asked for its pictures twice. Where the new one cannot start, the old one
//                         has not even noticed.
//   the same folder       stop ─▶ start ─▶ take its place
//                         What was learned waits in the folder, so where the new one cannot start,
//                         the old one is started again, from there.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <stop_token>
#include <string>

#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "service/claims.h"
#include "service/config.h"
#include "service/stream_events.h"
#include "service/streams.h"

namespace millrace::service {

/// One change of a stream at a time, of others at the same time: each call waits for those of the
/// same stream before it, and takes as long as a stream takes to start and to stop: seconds. No
/// lock is held meanwhile. Thread-safe.
class StreamControl {
 public:
  struct Options {
    /// Both must outlive it.
    Streams* streams = nullptr;
    StreamEvents* events = nullptr;
    /// Starts a stream, of which `events` has a life. Gives up once `config.learner.stop` says so.
    std::function<absl::StatusOr<SharedStream>(const StreamConfig& config)> start = {};
    /// Whether a stream that goes on with the learner that it has may become what `config` says.
    /// May be empty. For one that is made anew `start` says so.
    std::function<absl::Status(const StreamConfig& config,
                               const pipeline::LearnerDescription& learner)>
        admit = {};
    /// Told that a change of the stream of that name begins, and that it is over: as the first and
    /// the last of it. May be empty.
    Claims::Tell begins = {};
    Claims::Tell ends = {};
    std::size_t most_streams = 64;
  };

  /// Which stream a change is meant for.
  struct Target {
    std::string name;
    /// Of its entry, as the client knows it. Empty: whatever it is.
    std::string etag = {};
    /// The file's own, and none that a client has added by its name, for which it fails with
    /// ALREADY_EXISTS.
    bool of_file = false;
    /// Gives up waiting for the changes before: CANCELLED. Once begun, a change is finished.
    std::stop_token stop = {};
  };
  /// What a stream is to be, of what it is. Fails as Update() is to fail. It must not call in here.
  using Next = std::function<absl::StatusOr<StreamConfig>(const StreamConfig& now)>;

  explicit StreamControl(Options options);

  StreamControl(const StreamControl&) = delete;
  StreamControl& operator=(const StreamControl&) = delete;

  /// Fails with ALREADY_EXISTS, with RESOURCE_EXHAUSTED if there are as many streams as there can
  /// be, with CANCELLED once `config.learner.stop` says so, even in its last moment, and as `start`
  /// does: then nothing is left of it.
  [[nodiscard]] absl::StatusOr<SharedStream> Create(const StreamConfig& config)
      ABSL_LOCKS_EXCLUDED(mu_);

  /// Makes `target` what `config` says. Fails with NOT_FOUND; with ABORTED if its etag is another
  /// one; with FAILED_PRECONDITION if what it has learned would be lost and `allow_reset` is not
  /// set; with CANCELLED as Create(); and as `start`, `admit` and `open_source` do. Then it is as
  /// it was before: with its weights as they are, or, if it had to be stopped, from its last
  /// checkpoint. One that could not even be started again stays, stopped, and is started by
  /// whatever change comes next, even to what it is.
  [[nodiscard]] absl::StatusOr<SharedStream> Update(const Target& target,
                                                    const StreamConfig& config, bool allow_reset)
      ABSL_LOCKS_EXCLUDED(mu_);
  /// The same, with what `next` makes of what it is: nobody else changes it in between.
  [[nodiscard]] absl::StatusOr<SharedStream> Update(const Target& target, const Next& next,
                                                    bool allow_reset) ABSL_LOCKS_EXCLUDED(mu_);

  /// Makes it anew with the weights of its configuration, even one that has failed or ended. Its
  /// checkpoints are set aside in a folder `reset-` and the time. Fails with NOT_FOUND, ABORTED,
  /// with CANCELLED as Create() once `target.stop` says so, as `start` does, and as the system does
  /// where they cannot be moved; then it is as it was before, as after Update().
  [[nodiscard]] absl::StatusOr<SharedStream> Reset(const Target& target) ABSL_LOCKS_EXCLUDED(mu_);

  /// Makes it anew from the checkpoint `name`; newer ones are set aside in a folder `restored-` and
  /// the time. Once begun, it is finished. Fails as Reset(), with FAILED_PRECONDITION if it keeps
  /// none, with NOT_FOUND if there is no such checkpoint, and with DATA_LOSS if it is damaged.
  [[nodiscard]] absl::StatusOr<SharedStream> Restore(const Target& target, const std::string& name)
      ABSL_LOCKS_EXCLUDED(mu_);

  /// Restarts the stream `name` with the configuration that `next` returns; nullopt leaves it as it
  /// is. No other change runs between the two. Checkpoints stay. Fails as Reset().
  [[nodiscard]] absl::Status MakeAnew(
      const std::string& name,
      const std::function<std::optional<StreamConfig>(const ServedStream& now)>& next)
      ABSL_LOCKS_EXCLUDED(mu_);

  /// Does `act`, and fails as that does, while nobody changes the stream `name`, or adds it. Fails
  /// with CANCELLED once `stop` says so before its turn.
  [[nodiscard]] absl::Status WithoutChange(const std::string& name, const std::stop_token& stop,
                                           const std::function<absl::Status()>& act);

  /// Takes it out and stops it. Returns it, stopped. Fails with NOT_FOUND and ABORTED.
  [[nodiscard]] absl::StatusOr<SharedStream> Delete(const Target& target) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  /// What is done when the old one is stopped, and undone if the new one cannot start.
  struct Between {
    std::function<absl::Status()> make = [] { return absl::OkStatus(); };
    std::function<void()> undo = [] {};
  };

  [[nodiscard]] absl::StatusOr<Claims::Claim> TakeTurn(const Target& target);
  /// Counts one more as being made. Fails where there is no room for it.
  [[nodiscard]] absl::Status MakeRoom() ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] bool IsOfFile(const std::string& name) const ABSL_LOCKS_EXCLUDED(mu_);

  // What follows is for who has claimed the stream.

  [[nodiscard]] absl::StatusOr<SharedStream> Find(const Target& target) const
      ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] static Between SettingAside(const std::string& folder, std::int64_t after,
                                            const std::string& why);
  /// As `start`, whatever that throws.
  [[nodiscard]] absl::StatusOr<SharedStream> Start(const StreamConfig& config) const;
  /// As Start(). One whose call was cancelled meanwhile is stopped again.
  [[nodiscard]] absl::StatusOr<SharedStream> StartUnlessCancelled(const StreamConfig& config) const;
  /// `started` takes the place of the one of its name, or is stopped as the server does.
  [[nodiscard]] absl::Status TakePlace(const SharedStream& started) const;
  /// It runs, and nobody shall ever hear of it.
  void GiveUp(const SharedStream& started) const;

  /// Makes it what `config` says while its learner goes on. Fails as Update(), and then it is as it
  /// was. Absent: that takes a new learner.
  [[nodiscard]] std::optional<absl::Status> ChangeWhileItLearns(ServedStream& served,
                                                                const StreamConfig& config) const;
  /// Another source takes the seat.
  [[nodiscard]] absl::Status ReplaceSource(const ServedStream& served,
                                           const StreamConfig& config) const;
  /// Makes `old` anew, in the order that it allows.
  [[nodiscard]] absl::StatusOr<SharedStream> Restart(const SharedStream& old,
                                                     const StreamConfig& config);
  [[nodiscard]] absl::StatusOr<SharedStream> StartThenStop(const SharedStream& old,
                                                           const StreamConfig& config);
  /// What `between.make` fails with, this fails with.
  [[nodiscard]] absl::StatusOr<SharedStream> StopThenStart(const SharedStream& old,
                                                           const StreamConfig& config,
                                                           const Between& between);
  void StartAgain(const SharedStream& old);

  // Constant after construction.
  const Options options_;

  // Self-synchronized. By the streams' names: who changes one has claimed it.
  Claims claims_;

  mutable Mutex mu_;
  /// The streams that the file has added, whoever has changed them since.
  std::set<std::string> of_file_ ABSL_GUARDED_BY(mu_);
  std::size_t being_made_ ABSL_GUARDED_BY(mu_) = 0;  ///< Those that no other is there for yet.
};

}  // namespace millrace::service
