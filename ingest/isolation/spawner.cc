#include "ingest/isolation/spawner.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ingest/isolation/messages.h"
#include "ingest/isolation/packets.h"

namespace millrace::ingest {
namespace {

using Clock = std::chrono::steady_clock;

/// The descriptor of a process's socket: the first one after the standard streams.
constexpr int kSocket = 3;

/// Ignores the signals that end a server. The server handles them and ends the other processes.
void LeaveSignalsToTheServer() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGPIPE}) {
    std::signal(signal, SIG_IGN);
  }
}

void ShutStandardStreams() {
  const Descriptor nothing(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (nothing.value() < 0) return;
  dup2(nothing.value(), STDIN_FILENO);
  dup2(nothing.value(), STDOUT_FILENO);
}

/// Makes `ps` show "millrace NAME".
void TakeName(std::span<char> arguments, const char* name) {
  prctl(PR_SET_NAME, name);
  if (arguments.empty()) return;
  const std::string shown = absl::StrCat("millrace ", name);
  std::ranges::fill(arguments, '\0');
  std::copy_n(shown.begin(), std::min(shown.size(), arguments.size() - 1), arguments.begin());
}

/// Whether GStreamer, its drivers or sanitizers read this environment variable.
bool IsForCameras(std::string_view variable) {
  static constexpr auto kNames =
      std::to_array<std::string_view>({"HOME", "LANG", "PATH", "TMPDIR", "TZ"});
  static constexpr auto kBeginnings = std::to_array<std::string_view>(
      {"ASAN_", "CUDA_",     "DRI_",   "GIO_",   "GNUTLS_", "GST_",  "G_",
       "LC_",   "LD_",       "LIBVA_", "LSAN_",  "MALLOC_", "MESA_", "NVIDIA_",
       "ORC_",  "SSL_CERT_", "TSAN_",  "UBSAN_", "VDPAU_",  "XDG_"});
  const std::string_view name = variable.substr(0, variable.find('='));
  return std::ranges::find(kNames, name) != kNames.end() ||
         std::ranges::any_of(kBeginnings,
                             [&](std::string_view it) { return name.starts_with(it); });
}

/// Overwrites all other variables, which may contain passwords of cameras: /proc shows the memory
/// of the environment at the program's start.
void ForgetEnvironment() {
  char** kept = environ;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (IsForCameras(*variable)) {
      *kept++ = *variable;
    } else {
      explicit_bzero(*variable, std::strlen(*variable));
    }
  }
  *kept = nullptr;
}

struct Process {
  pid_t pid;
  Descriptor socket;  ///< The process's end: ProcessEnded follows its own messages.
  std::optional<Clock::time_point> end_by = {};
  bool is_killed = false;
};

/// The spawner's main loop, in its own process.
class SpawnerLoop {
 public:
  SpawnerLoop(const Spawner::Options& options, int control) : options_(options), control_(control) {
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, &child, &before_);
    ended_ = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
  }

  /// Runs until the server has ended.
  void Run() {
    while (Poll()) {
      Reap();
      EndThoseThatAreToEnd();
    }
  }

 private:
  bool Poll() {
    std::vector<pollfd> polled = {{.fd = control_, .events = POLLIN, .revents = 0},
                                  {.fd = ended_, .events = POLLIN, .revents = 0}};
    for (const Process& process : processes_) {
      const bool ends = process.end_by.has_value();
      polled.push_back({.fd = process.is_killed ? -1 : process.socket.value(),
                        .events = static_cast<short>(ends ? 0 : POLLRDHUP),
                        .revents = 0});
    }
    poll(polled.data(), polled.size(), MillisecondsToNextEnd());
    auto next = polled.begin() + 2;
    for (Process& process : processes_) {
      const short happened = (next++)->revents;
      if ((happened & POLLHUP) != 0) {
        process.end_by = Clock::now();
      } else if ((happened & POLLRDHUP) != 0) {
        process.end_by = Clock::now() + options_.in_good_order;
      }
    }
    return polled.front().revents == 0 || Take();
  }

  int MillisecondsToNextEnd() const {
    std::optional<Clock::time_point> next;
    for (const Process& process : processes_) {
      if (!process.end_by || process.is_killed) continue;
      next = next ? std::min(*next, *process.end_by) : *process.end_by;
    }
    if (!next) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*next - Clock::now());
    return std::max(0, static_cast<int>(left.count()));
  }

  // False: the server has ended.
  bool Take() {
    std::optional<Packet> asked = ReceivePacket(control_, 1, /*with_file=*/true);
    if (!asked) return false;
    if (asked->file.value() < 0) return true;
    if (options_.prepare) std::exchange(options_.prepare, {})();
    const pid_t spawner = getpid();
    const pid_t pid = fork();
    if (pid == 0) Begin(asked->file, spawner);
    if (pid < 0) {
      SendEnd(asked->file, {.fork_error = errno});
    } else {
      processes_.push_back({.pid = pid, .socket = std::move(asked->file)});
    }
    return true;
  }

  [[noreturn]] void Begin(const Descriptor& socket, pid_t spawner) {
    dup2(socket.value(), kSocket);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    TakeName(options_.arguments, "camera");
    Confine(options_.confinement, spawner, kSocket + 1);
    try {
      _exit(options_.run(Descriptor(kSocket)));
    } catch (const std::exception& error) {
      _exit(kExitThrew);
    }
  }

  void Reap() {
    signalfd_siginfo ended_child;
    while (read(ended_, &ended_child, sizeof(ended_child)) > 0) continue;
    int status = 0;
    for (pid_t pid = waitpid(-1, &status, WNOHANG); pid > 0; pid = waitpid(-1, &status, WNOHANG)) {
      const auto process = std::ranges::find(processes_, pid, &Process::pid);
      if (process == processes_.end()) continue;
      SendEnd(process->socket, {.wait_status = status & 0xffff});
      processes_.erase(process);
    }
  }

  static void SendEnd(const Descriptor& socket, const ProcessEnded& ended) {
    SendPacket(socket.value(), Encode(ended), /*wait=*/false);
  }

  void EndThoseThatAreToEnd() {
    const Clock::time_point now = Clock::now();
    for (Process& process : processes_) {
      if (process.is_killed || !process.end_by || *process.end_by > now) continue;
      kill(process.pid, SIGKILL);
      process.is_killed = true;
    }
  }

  Spawner::Options options_;
  const int control_;
  int ended_ = -1;
  sigset_t before_ = {};
  std::list<Process> processes_;
};

/// The spawner has one descriptor for each camera's process.
void AllowAsManyDescriptorsAsMayBe() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

[[noreturn]] void BeSpawner(const Spawner::Options& options, const Descriptor& control,
                            pid_t server) {
  EndWith(server);
  LeaveSignalsToTheServer();
  ShutStandardStreams();
  AllowAsManyDescriptorsAsMayBe();
  ForgetEnvironment();
  TakeName(options.arguments, "spawner");
  try {
    SpawnerLoop(options, control.value()).Run();
  } catch (const std::exception& error) {
    _exit(kExitThrew);
  }
  _exit(0);
}

absl::Status Unavailable(std::string_view why) {
  return absl::UnavailableError(absl::StrCat("the process that starts those of cameras ",
                                             std::string(why), "; restart this server"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Spawner>> Spawner::Start(const Options& options) {
  auto ends = NewPacketSocket();
  if (!ends.ok()) return ends.status();
  const pid_t server = getpid();
  const pid_t pid = fork();
  if (pid < 0) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the process that starts those of cameras cannot be started: ",
                     std::generic_category().message(errno),
                     "; raise the limit of processes (`ulimit -u`, TasksMax of systemd)"));
  }
  if (pid == 0) {
    { const Descriptor of_the_server = std::move(ends->first); }
    BeSpawner(options, ends->second, server);
  }
  return std::unique_ptr<Spawner>(new Spawner(pid, std::move(ends->first)));
}

Spawner::~Spawner() {
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
}

absl::Status Spawner::Check() const {
  siginfo_t ended = {};
  if (waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
      ended.si_pid == 0) {
    return absl::OkStatus();
  }
  return Unavailable("has ended");
}

absl::Status Spawner::Spawn(const Descriptor& socket) const {
  if (SendPacket(control_.value(), "+", /*wait=*/false, socket.value())) return absl::OkStatus();
  const bool is_gone = errno == EPIPE || errno == ECONNRESET;
  return Unavailable(is_gone ? "has ended" : "does not answer");
}

}  // namespace millrace::ingest
