// Processes that are started and ended, and what they may do.
#include "ingest/isolation/spawner.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "ingest/isolation/messages.h"
#include "ingest/isolation/packets.h"

namespace millrace::ingest {
namespace {

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

/// A zombie is not.
bool IsAlive(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string name;
  char state = 'X';
  int unused = 0;
  file >> unused >> name >> state;
  return state != 'X' && state != 'Z';
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

/// Reads on until it has ended; nothing if nobody says how.
std::optional<ProcessEnded> End(const Descriptor& socket) {
  std::optional<ProcessEnded> ended;
  while (const auto packet = ReceivePacket(socket.value(), kMostMessageBytes)) {
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
  pid_t pid = -1;
  {
    const Descriptor socket = Begin(*spawner);
    pid = PidOf(socket);
  }
  while (kill(pid, 0) == 0) usleep(1000);
}

// The end of the socket is the process's and the spawner's, and nobody else's.
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
    const auto spawner = Start([&](Descriptor /*socket*/) {
      for (;;) pause();
      return 1;
    });
    const Descriptor socket = Begin(*spawner);
    SendPacket(told->second.value(), std::to_string(spawner->pid()), /*wait=*/true);
    for (;;) pause();
  }
  { const Descriptor of_the_server = std::move(told->second); }
  const pid_t spawner = PidOf(told->first);
  std::string processes;
  while (processes.empty()) processes = ChildrenOf(spawner);
  kill(server, SIGKILL);
  waitpid(server, nullptr, 0);
  while (IsAlive(spawner) || IsAlive(std::stoi(processes))) usleep(1000);
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

TEST(ConfinementTest, AProcessHasNoOtherDescriptorsAndFewMore) {
  const Descriptor secret(open("/dev/null", O_RDONLY));  // Not even closed by exec.
  const auto spawner = Start([](Descriptor /*socket*/) {
    constexpr std::ptrdiff_t kStandardAndSocketAndThisLook = 5;
    if (FilesOf(getpid()) != kStandardAndSocketAndThisLook) return 1;
    int count = 0;
    while (open("/dev/null", O_RDONLY) >= 0) ++count;
    return count < 64 ? kHolds : 2;
  });
  EXPECT_EQ(CodeOf(End(Begin(*spawner))), kHolds);
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

TEST(ConfinementTest, ItGoesFirstWhenMemoryIsShort) {
  const auto spawner = Start([](Descriptor /*socket*/) {
    int score = 0;
    std::ifstream("/proc/self/oom_score_adj") >> score;
    return score >= 500 ? kHolds : 1;
  });
  EXPECT_EQ(CodeOf(End(Begin(*spawner))), kHolds);
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
