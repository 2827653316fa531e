// A process that starts others: those in which cameras' video is decoded.
//
//   server ──forks, first of all──▶ spawner ──forks, for each session of a camera──▶ process
//
// A program with threads cannot fork safely, and starting it anew for each camera costs a third of
// a second and 70 MB, because it links LibTorch (docs/decisions/0031-a-process-for-a-camera.md). So
// the spawner is forked while there is one thread, and stays as it was then: without cameras'
// passwords, sockets or threads. What it forks shares its memory until it is written to.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/descriptor.h"
#include "base/mutex.h"
#include "ingest/isolation/confinement.h"

namespace millrace::ingest {

/// Thread-safe. The spawner and all that it has started end with it, and with the process and the
/// thread that made it.
class Spawner {
 public:
  struct Options {
    /// Runs in the spawner before the first process is forked, and may start no threads. May be
    /// empty.
    std::function<void()> prepare = {};
    /// What a process does with its end of the socket, and its exit code.
    std::function<int(Descriptor socket)> run;
    Confinement confinement = {};
    /// A process whose socket says no more has so long to end. Then it is killed.
    std::chrono::milliseconds in_good_order{2500};
    /// Where the program's arguments are, which `ps` shows: "millrace spawner" and "millrace
    /// camera" take their place. May be empty.
    std::span<char> arguments = {};
  };

  /// Forks the spawner, which keeps of the environment only what decoding needs.
  /// RESOURCE_EXHAUSTED where the system does not let it. REQUIRES: this process has one thread.
  /// jemalloc's background thread may run beside it: jemalloc's handlers of fork() look after it.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<Spawner>> Start(const Options& options);
  ~Spawner();
  Spawner(const Spawner&) = delete;
  Spawner& operator=(const Spawner&) = delete;

  /// Starts a process that has `socket`, and does not wait for it. What comes over the other end
  /// last of all is ProcessEnded (messages.h). A process ends when that end says no more; it is
  /// killed at once when it is closed. UNAVAILABLE where the spawner is gone, or takes no more.
  [[nodiscard]] absl::Status Spawn(const Descriptor& socket) const;

  /// UNAVAILABLE where the spawner is gone: no process can be started any more.
  [[nodiscard]] absl::Status Check() const;

  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  Spawner(pid_t pid, Descriptor control) : pid_(pid), control_(std::move(control)) {}

  const pid_t pid_;
  const Descriptor control_;
};

}  // namespace millrace::ingest
