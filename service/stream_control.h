// Adds, changes and deletes camera streams while the server runs.
//
//   Create   start ─▶ add                     Delete   take out ─▶ stop
//   Update   of the source: the learner stays, another source takes the seat
//            of anything else: stop ─▶ start ─▶ take its place; where the new one cannot start, the
//            old one is started again
#pragma once

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "service/config.h"
#include "service/stream_events.h"
#include "service/streams.h"

namespace millrace::service {

/// One change at a time: each call waits for the one before, and takes as long as a stream takes to
/// start and to stop: seconds. Thread-safe.
class StreamControl {
 public:
  struct Options {
    /// Both must outlive it.
    Streams* streams = nullptr;
    StreamEvents* events = nullptr;
    /// Starts a stream, which tells `events`. Gives up once `config.learner.stop` says so.
    std::function<absl::StatusOr<SharedStream>(const StreamConfig& config)> start = {};
    std::size_t most_streams = 64;
  };

  /// Which stream a change is meant for.
  struct Target {
    std::string name;
    /// Of its entry, as the client knows it. Empty: whatever it is.
    std::string etag = {};
  };

  explicit StreamControl(Options options);

  StreamControl(const StreamControl&) = delete;
  StreamControl& operator=(const StreamControl&) = delete;

  /// Fails with ALREADY_EXISTS, with RESOURCE_EXHAUSTED if there are as many streams as there can
  /// be, and as `start` does.
  [[nodiscard]] absl::StatusOr<SharedStream> Create(const StreamConfig& config)
      ABSL_LOCKS_EXCLUDED(busy_);

  /// Makes `target` what `config` says. Fails with NOT_FOUND; with ABORTED if its etag is another
  /// one; with FAILED_PRECONDITION if what it has learned would be lost and `allow_reset` is not
  /// set; and as `start` and `open_source` do. Then it is as it was before.
  [[nodiscard]] absl::StatusOr<SharedStream> Update(const Target& target,
                                                    const StreamConfig& config, bool allow_reset)
      ABSL_LOCKS_EXCLUDED(busy_);

  /// Makes it anew with the weights of its configuration. Its checkpoints are set aside in a folder
  /// `reset-` and the time. Fails with NOT_FOUND, ABORTED, as `start` does, and as the system does
  /// where they cannot be moved; then it is as it was before.
  [[nodiscard]] absl::StatusOr<SharedStream> Reset(const Target& target) ABSL_LOCKS_EXCLUDED(busy_);

  /// Makes it anew from the checkpoint `name`; newer ones are set aside in a folder `restored-` and
  /// the time. Fails as Reset(), with FAILED_PRECONDITION if it keeps none, with NOT_FOUND if there
  /// is no such checkpoint, and with DATA_LOSS if it is damaged.
  [[nodiscard]] absl::StatusOr<SharedStream> Restore(const Target& target, const std::string& name)
      ABSL_LOCKS_EXCLUDED(busy_);

  /// Takes it out and stops it. Returns it, stopped. Fails with NOT_FOUND and ABORTED.
  [[nodiscard]] absl::StatusOr<SharedStream> Delete(const Target& target)
      ABSL_LOCKS_EXCLUDED(busy_);

 private:
  /// What is done when the old one is stopped, and undone if the new one cannot start.
  struct Between {
    std::function<absl::Status()> make = [] { return absl::OkStatus(); };
    std::function<void()> undo = [] {};
  };

  [[nodiscard]] absl::StatusOr<SharedStream> Find(const Target& target) const;
  [[nodiscard]] static Between SettingAside(const std::string& folder, std::int64_t after,
                                            const std::string& why);
  /// What `make` fails with, this fails with.
  [[nodiscard]] absl::StatusOr<SharedStream> Restart(const SharedStream& old,
                                                     const StreamConfig& config,
                                                     const Between& between)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(busy_);

  // Constant after construction.
  const Options options_;

  Mutex busy_;  // Held while a stream is changed: what makes it one at a time.
};

}  // namespace millrace::service
