// A process that forks the processes in which cameras' video is decoded.
//
//   server ──forks, first of all──▶ spawner ──forks, for each session of a camera──▶ process
//
// A program with threads cannot fork safely. A new start for each camera would take a third of a
// second and 70 MB, because the program links LibTorch
// (docs/decisions/0031-a-process-for-a-camera.md). So the server forks the spawner while it has one
// thread, and without cameras' passwords or sockets. The spawner's processes share its memory until
// they write to it.
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

/// Owns the spawner process. Thread-safe. The spawner and its processes end with this object, and
/// with the process and the thread that made it.
class Spawner {
 public:
  struct Options {
    /// Runs in the spawner before the first fork, and must not start threads. May be empty.
    std::function<void()> prepare = {};
    /// The main function of a process: receives its end of the socket, returns the exit code.
    std::function<int(Descriptor socket)> run;
    Confinement confinement = {};
    /// After the server stops writing to its socket, a process has this long to end. Then it is
    /// killed.
    std::chrono::milliseconds in_good_order{2500};
    /// The memory of the program's arguments, which `ps` shows. "millrace spawner" and "millrace
    /// camera" replace them. May be empty.
    std::span<char> arguments = {};
  };

  /// Forks the spawner, which keeps only the environment that decoding needs. RESOURCE_EXHAUSTED if
  /// the system refuses the fork. REQUIRES: this process has one thread. jemalloc's background
  /// thread may also run, because jemalloc's own fork() handlers protect it.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<Spawner>> Start(const Options& options);
  ~Spawner();
  Spawner(const Spawner&) = delete;
  Spawner& operator=(const Spawner&) = delete;

  /// Starts a process with `socket` and does not wait for it. The last message at the other end is
  /// ProcessEnded (messages.h). The process ends when the other end stops writing; if the other end
  /// is closed, it is killed at once. UNAVAILABLE if the spawner has ended or accepts no more
  /// requests.
  [[nodiscard]] absl::Status Spawn(const Descriptor& socket) const;

  /// UNAVAILABLE if the spawner has ended: no more processes can be started.
  [[nodiscard]] absl::Status Check() const;

  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  Spawner(pid_t pid, Descriptor control) : pid_(pid), control_(std::move(control)) {}

  const pid_t pid_;
  const Descriptor control_;
};

}  // namespace millrace::ingest
