// Starts and ends of processes, and their rights.
#include "ingest/isolation/spawner.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ingest/isolation/messages.h"
#include "ingest/isolation/packets.h"

namespace millrace::ingest {
namespace {

using ::testing::HasSubstr;

constexpr int kHolds = 0;

std::ptrdiff_t FilesOf(pid_t pid) {
  const std::filesystem::directory_iterator files("/proc/" + std::to_string(pid) + "/fd");
  return std::distance(begin(files), end(files));
}

/// Whose parent is `pid`.
std::string ChildrenOf(pid_t pid) {
  const std::string number = std::to_string(pid);
  std::ifstream file("/proc/" + number + "/task/" + number + "/children");
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A process, which may be no child of this process.
class Watched {
 public:
  explicit Watched(pid_t pid) : process_(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))) {}

  /// Waits for its end.
  void AwaitEnd() const {
    pollfd ended = {.fd = process_.value(), .events = POLLIN, .revents = 0};
    while (process_.value() >= 0 && poll(&ended, 1, -1) < 1) continue;
  }

 private:
  const Descriptor process_;
};

/// What `run` returns in a process of its own, in which it may change what it likes.
int InAProcess(const std::function<int()>& run) {
  const pid_t pid = fork();
  if (pid == 0) _exit(run());
  int status = -1;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// From now on `calls` fail by `error` in this process and its children.
void Refuse(std::initializer_list<unsigned int> calls, unsigned int error) {
  std::vector<sock_filter> filter = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (const unsigned int call : calls) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog program = {.len = static_cast<unsigned short>(filter.size()),
                              .filter = filter.data()};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

std::unique_ptr<Spawner> Start(Spawner::Options options) {
  auto spawner = Spawner::Start(options);
  EXPECT_TRUE(spawner.ok()) << spawner.status();
  return spawner.ok() ? *std::move(spawner) : nullptr;
}

std::unique_ptr<Spawner> Start(const std::function<int(Descriptor)>& run) {
  return Start(Spawner::Options{.run = run});
}

/// The other end of the socket of a process that begins.
Descriptor Begin(const Spawner& spawner) {
  auto ends = NewPacketSocket();
  EXPECT_TRUE(ends.ok() && spawner.Spawn(ends->second).ok());
  return std::move(ends->first);
}

/// Reads until the process has ended. nullopt if no message has its exit status.
std::optional<ProcessEnded> End(const Descriptor& socket) {
  std::optional<ProcessEnded> ended;
  while (const auto packet = ReceivePacket(socket.value(), kMaxMessageBytes)) {
    const auto message = Decode(packet->bytes, 1);
    if (message.ok() && std::holds_alternative<ProcessEnded>(*message)) {
      ended = std::get<ProcessEnded>(*message);
    }
  }
  return ended;
}

int CodeOf(const std::optional<ProcessEnded>& ended) {
  EXPECT_TRUE(ended && WIFEXITED(ended->wait_status));
  return ended ? WEXITSTATUS(ended->wait_status) : -1;
}
int SignalOf(const std::optional<ProcessEnded>& ended) {
  EXPECT_TRUE(ended && WIFSIGNALED(ended->wait_status));
  return ended ? WTERMSIG(ended->wait_status) : -1;
}

void WaitForTheEnd(const Descriptor& socket) {
  while (ReceivePacket(socket.value(), 64)) continue;
}

/// What a process says of itself once it runs.
pid_t PidOf(const Descriptor& socket) {
  const auto packet = ReceivePacket(socket.value(), 64);
  return packet ? std::stoi(packet->bytes) : -1;
}
void SayPid(const Descriptor& socket) {
  SendPacket(socket.value(), std::to_string(getpid()), /*wait=*/true);
}

TEST(SpawnerTest, AProcessHasItsSocketAndSaysHowItEnded) {
  const auto spawner = Start([](Descriptor socket) {
    SendPacket(socket.value(), "here", /*wait=*/true);
    WaitForTheEnd(socket);
    return 7;
  });
  const Descriptor socket = Begin(*spawner);
  const auto said = ReceivePacket(socket.value(), 64);
  ASSERT_TRUE(said.has_value());
  EXPECT_EQ(said->bytes, "here");
  shutdown(socket.value(), SHUT_WR);
  EXPECT_EQ(CodeOf(End(socket)), 7);
}

TEST(SpawnerTest, OneThatIsKilledHarmsNoOther) {
  const auto spawner = Start([](Descriptor socket) {
    SayPid(socket);
    WaitForTheEnd(socket);
    return kHolds;
  });
  const Descriptor one = Begin(*spawner);
  const Descriptor other = Begin(*spawner);
  kill(PidOf(one), SIGKILL);
  EXPECT_EQ(SignalOf(End(one)), SIGKILL);
  EXPECT_GT(PidOf(other), 0);
  shutdown(other.value(), SHUT_WR);
  EXPECT_EQ(CodeOf(End(other)), kHolds);
}

TEST(SpawnerTest, OneThatDoesNotEndIsKilled) {
  const auto spawner = Start({.run =
                                  [](Descriptor /*socket*/) {
                                    for (;;) pause();
                                    return 1;
                                  },
                              .in_good_order = std::chrono::milliseconds(10)});
  const Descriptor socket = Begin(*spawner);
  shutdown(socket.value(), SHUT_WR);
  EXPECT_EQ(SignalOf(End(socket)), SIGKILL);
}

TEST(SpawnerTest, OneWhoseSocketIsClosedIsKilledAtOnce) {
  const auto spawner = Start({.run =
                                  [](Descriptor socket) {
                                    SayPid(socket);
                                    for (;;) pause();
                                    return 1;
                                  },
                              .in_good_order = std::chrono::hours(1)});
  std::optional<Descriptor> socket = Begin(*spawner);
  const Watched process(PidOf(*socket));
  socket.reset();
  process.AwaitEnd();
}

// Only the process and the spawner hold this end of the socket.
TEST(SpawnerTest, AllEndWithTheSpawner) {
  auto spawner = Start([](Descriptor socket) {
    SayPid(socket);
    for (;;) pause();
    return 1;
  });
  const Descriptor socket = Begin(*spawner);
  EXPECT_GT(PidOf(socket), 0);
  spawner.reset();
  EXPECT_FALSE(End(socket).has_value());  // Its end of the socket is closed.
}

TEST(SpawnerTest, AllEndWithAServerThatIsKilled) {
  auto told = NewPacketSocket();
  ASSERT_TRUE(told.ok());
  const pid_t server = fork();
  if (server == 0) {
    const auto spawner = Start([](Descriptor socket) {
      SayPid(socket);
      for (;;) pause();
      return 1;
    });
    const Descriptor socket = Begin(*spawner);
    for (const pid_t pid : {spawner->pid(), PidOf(socket)}) {
      SendPacket(told->second.value(), std::to_string(pid), /*wait=*/true);
    }
    for (;;) pause();
  }
  { const Descriptor of_the_server = std::move(told->second); }
  const Watched spawner(PidOf(told->first));
  const Watched process(PidOf(told->first));
  kill(server, SIGKILL);
  waitpid(server, nullptr, 0);
  spawner.AwaitEnd();
  process.AwaitEnd();
}

TEST(SpawnerTest, WithoutASpawnerThereAreNoMore) {
  const auto spawner = Start([](Descriptor /*socket*/) { return kHolds; });
  const Descriptor socket = Begin(*spawner);
  End(socket);
  kill(spawner->pid(), SIGKILL);
  siginfo_t ended = {};
  waitid(P_PID, static_cast<id_t>(spawner->pid()), &ended, WEXITED | WNOWAIT);
  auto ends = NewPacketSocket();
  ASSERT_TRUE(ends.ok());
  EXPECT_TRUE(absl::IsUnavailable(spawner->Spawn(ends->second)));
}

TEST(SpawnerTest, ASpawnerThatHangsHoldsNobodyUp) {
  const auto spawner = Start([](Descriptor /*socket*/) { return kHolds; });
  kill(spawner->pid(), SIGSTOP);
  auto ends = NewPacketSocket();
  ASSERT_TRUE(ends.ok());
  absl::Status spawned;
  while (spawned.ok()) spawned = spawner->Spawn(ends->second);
  EXPECT_TRUE(absl::IsUnavailable(spawned));
  EXPECT_THAT(std::string(spawned.message()), HasSubstr("does not answer; restart this server"));
}

TEST(SpawnerTest, WhereItCannotStartItSaysWhatToDo) {
  EXPECT_EQ(InAProcess([] {
              Refuse({SYS_clone}, EAGAIN);
              const absl::Status started =
                  Spawner::Start({.run = [](Descriptor) { return kHolds; }}).status();
              const std::string said(started.message());
              return absl::IsResourceExhausted(started) &&
                             said.find("`ulimit -u`, TasksMax") != std::string::npos
                         ? kHolds
                         : 1;
            }),
            kHolds);
}

// /proc shows the very memory that held them when the program began.
TEST(SpawnerTest, OfTheEnvironmentItKeepsWhatDecodingNeeds) {
  setenv("MILLRACE_TEST_PASSWORD", "plum", 1);
  setenv("LIBVA_TEST", "kept", 1);
  const char* const set = getenv("MILLRACE_TEST_PASSWORD");
  ASSERT_NE(set, nullptr);
  const std::span<const char> password(set, 4);
  const auto spawner = Start([&](Descriptor /*socket*/) {
    if (getenv("MILLRACE_TEST_PASSWORD") != nullptr) return 1;
    const char* const kept = getenv("LIBVA_TEST");
    if (kept == nullptr || std::string_view(kept) != "kept") return 2;
    return std::ranges::all_of(password, [](char c) { return c == '\0'; }) ? kHolds : 3;
  });
  EXPECT_EQ(CodeOf(End(Begin(*spawner))), kHolds);
  EXPECT_STREQ(getenv("MILLRACE_TEST_PASSWORD"), "plum");
  unsetenv("MILLRACE_TEST_PASSWORD");
  unsetenv("LIBVA_TEST");
}

TEST(SpawnerTest, WhoItIsShowsInTheListOfProcesses) {
  std::array<char, 64> arguments = {};
  const auto spawner =
      Start({.run =
                 [&](Descriptor /*socket*/) {
                   return std::string_view(arguments.data()) == "millrace camera" ? kHolds : 1;
                 },
             .arguments = arguments});
  EXPECT_EQ(CodeOf(End(Begin(*spawner))), kHolds);
  std::string name;
  std::getline(std::ifstream("/proc/" + std::to_string(spawner->pid()) + "/comm"), name);
  EXPECT_EQ(name, "spawner");
}

TEST(SpawnerTest, AHundredLeaveNothingBehind) {
  constexpr int kProcesses = 100;
  const auto spawner = Start([](Descriptor socket) {
    WaitForTheEnd(socket);
    return kHolds;
  });
  const auto one = [&] {
    const Descriptor socket = Begin(*spawner);
    shutdown(socket.value(), SHUT_WR);
    EXPECT_EQ(CodeOf(End(socket)), kHolds);
  };
  one();
  const std::ptrdiff_t own = FilesOf(getpid());
  const std::ptrdiff_t of_spawner = FilesOf(spawner->pid());
  for (int i = 0; i < kProcesses; ++i) one();
  EXPECT_EQ(FilesOf(getpid()), own);
  EXPECT_EQ(FilesOf(spawner->pid()), of_spawner);
  EXPECT_EQ(ChildrenOf(spawner->pid()), "");
}

TEST(SpawnerTest, PreparesOnceBeforeTheFirst) {
  static int prepared = 0;
  const auto spawner =
      Start({.prepare = [] { ++prepared; }, .run = [](Descriptor) { return prepared; }});
  for (int i = 0; i < 2; ++i) EXPECT_EQ(CodeOf(End(Begin(*spawner))), 1);
  EXPECT_EQ(prepared, 0);
}

bool HasOnlyItsOwnDescriptors() {
  constexpr std::ptrdiff_t kStandardAndSocketAndThisLook = 5;
  return FilesOf(getpid()) == kStandardAndSocketAndThisLook;
}

TEST(ConfinementTest, AProcessHasNoOtherDescriptorsAndFewMore) {
  const Descriptor secret(open("/dev/null", O_RDONLY));  // Not even closed by exec.
  const auto spawner = Start([](Descriptor /*socket*/) {
    if (!HasOnlyItsOwnDescriptors()) return 1;
    int count = 0;
    while (open("/dev/null", O_RDONLY) >= 0) ++count;
    return count < 64 ? kHolds : 2;
  });
  EXPECT_EQ(CodeOf(End(Begin(*spawner))), kHolds);
}

// Kernels before 5.9 do not know close_range(), and filters of containers may refuse it.
TEST(ConfinementTest, WithoutCloseRangeItHasNoOtherDescriptorsEither) {
  const Descriptor secret(open("/dev/null", O_RDONLY));
  for (const unsigned int error : {ENOSYS, EPERM}) {
    EXPECT_EQ(InAProcess([&] {
                Refuse({SYS_close_range}, error);
                const auto spawner = Start(
                    [](Descriptor /*socket*/) { return HasOnlyItsOwnDescriptors() ? kHolds : 1; });
                return CodeOf(End(Begin(*spawner)));
              }),
              kHolds);
  }
}

TEST(ConfinementTest, WhereItCannotBeConfinedItsEndSaysSo) {
  EXPECT_EQ(InAProcess([] {
              Refuse({SYS_setrlimit, SYS_prlimit64}, EPERM);
              const auto spawner = Start([](Descriptor /*socket*/) { return 1; });
              return CodeOf(End(Begin(*spawner)));
            }),
            kExitNotConfined);
}

TEST(ConfinementTest, ItsMemoryIsBounded) {
  const auto spawner = Start({.run =
                                  [](Descriptor /*socket*/) {
                                    const auto maps = [](std::size_t bytes) {
                                      return mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
                                    };
                                    if (!maps(16 << 20)) return 1;
                                    return maps(64 << 20) ? 2 : kHolds;
                                  },
                              .confinement = {.more_data_bytes = 64 << 20}});
  EXPECT_EQ(CodeOf(End(Begin(*spawner))), kHolds);
}

TEST(ConfinementTest, ItGetsNoPrivilegesAndLeavesNoCore) {
  const auto spawner = Start([](Descriptor /*socket*/) {
    rlimit core = {};
    getrlimit(RLIMIT_CORE, &core);
    return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 && core.rlim_max == 0 ? kHolds : 1;
  });
  EXPECT_EQ(CodeOf(End(Begin(*spawner))), kHolds);
}

int OomScore() {
  int score = 0;
  std::ifstream("/proc/self/oom_score_adj") >> score;
  return score;
}

// Where the server's own is above 500, the server went first.
TEST(ConfinementTest, ItGoesFirstWhenMemoryIsShort) {
  for (const int of_server : {OomScore(), 300, 700}) {
    EXPECT_EQ(InAProcess([&] {
                std::ofstream("/proc/self/oom_score_adj") << of_server;
                const auto spawner = Start([&](Descriptor /*socket*/) {
                  return OomScore() == std::min(1000, of_server + 500) ? kHolds : 1;
                });
                return CodeOf(End(Begin(*spawner)));
              }),
              kHolds)
        << of_server;
  }
}

TEST(ConfinementTest, WhatEndsAServerIsForTheServerToHear) {
  const auto spawner = Start([](Descriptor socket) {
    SayPid(socket);
    WaitForTheEnd(socket);
    return kHolds;
  });
  const Descriptor socket = Begin(*spawner);
  const pid_t pid = PidOf(socket);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    kill(pid, signal);
    kill(spawner->pid(), signal);
  }
  shutdown(socket.value(), SHUT_WR);
  EXPECT_EQ(CodeOf(End(socket)), kHolds);
}

}  // namespace
}  // namespace millrace::ingest
