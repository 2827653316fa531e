// Ranks that find each other on loopback, over the real store and Gloo.
#include "pipeline/ranks/rendezvous.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <future>
#include <iterator>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "absl/strings/str_cat.h"
#include "base/descriptor.h"
#include "pipeline/ranks/gloo_group.h"
#include "pipeline/ranks/rank_address.h"

namespace millrace::pipeline {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Group = std::unique_ptr<RankGroup>;
using Joining = std::future<absl::StatusOr<Group>>;

constexpr char kSecret[] = "0123456789abcdef";

Joining JoinInAThread(int port, const std::string& secret = kSecret, int wish = 0) {
  return std::async(std::launch::async, [=] {
    return JoinLeader({.host = "127.0.0.1", .port = port, .secret = secret, .wish = wish}, {});
  });
}

class RankGroupTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made =
        RankLeader::Listen({.secret = kSecret,
                            .on_joined =
                                [this](const std::string& name, int missing) {
                                  joined_.push_back(absl::StrCat(name, ", ", missing, " missing"));
                                  if (on_joined_) on_joined_();
                                },
                            .on_refused =
                                [this](const absl::Status& why) {
                                  refused_.emplace_back(why.message());
                                  ++refused_count_;
                                }});
    ASSERT_TRUE(made.ok()) << made.status();
    leader_ = *std::move(made);
  }

  // By rank.
  std::vector<Group> GroupOf(int size) {
    std::vector<Joining> joining;
    for (int i = 1; i < size; ++i) joining.push_back(JoinInAThread(leader_->port()));
    std::vector<Group> groups(size);
    auto first = leader_->Gather({.size = size});
    EXPECT_TRUE(first.ok()) << first.status();
    groups[0] = *std::move(first);
    for (Joining& one : joining) {
      auto group = one.get();
      EXPECT_TRUE(group.ok()) << group.status();
      const int rank = (*group)->rank();
      groups.at(rank) = *std::move(group);
    }
    return groups;
  }

  std::vector<std::string> joined_;
  std::vector<std::string> refused_;
  std::atomic<int> refused_count_ = 0;
  std::function<void()> on_joined_;
  std::atomic<std::size_t> arrived_ = 0;
  std::unique_ptr<RankLeader> leader_;
};

TEST_F(RankGroupTest, EveryRankReachesEveryOther) {
  const std::vector<Group> groups = GroupOf(3);
  std::vector<std::jthread> threads;
  for (const Group& group : groups) {
    ASSERT_NE(group, nullptr);
    EXPECT_EQ(group->size(), 3);
    EXPECT_EQ(group->epoch(), 1);
    threads.emplace_back([&group] {
      const int own = group->rank();
      std::vector<int> sent(3, own);
      std::vector<int> received(3, -1);
      std::vector<std::unique_ptr<WireTransfer>> transfers;
      for (int other = 0; other < 3; ++other) {
        if (other == own) continue;
        transfers.push_back(
            group->wires().Send(other, 7, std::as_bytes(std::span(&sent[other], 1))));
        transfers.push_back(group->wires().Receive(
            other, 7, std::as_writable_bytes(std::span(&received[other], 1))));
      }
      for (const auto& transfer : transfers) EXPECT_TRUE(transfer->Wait().ok());
      for (int other = 0; other < 3; ++other) {
        if (other != own) {
          EXPECT_EQ(received[other], other);
        }
      }
    });
  }
}

TEST_F(RankGroupTest, ManyThreadsExchangeInTheOrderOfEachTag) {
  const std::vector<Group> groups = GroupOf(2);
  constexpr int kMessages = 300;
  constexpr std::size_t kNumbers = 5000;
  std::vector<std::jthread> threads;
  for (int tag = 20; tag < 24; ++tag) {
    threads.emplace_back([&, tag] {
      for (int i = 0; i < kMessages; ++i) {
        const std::vector<int> sent(kNumbers, tag * 1000 + i);
        EXPECT_TRUE(groups[0]->wires().Send(1, tag, std::as_bytes(std::span(sent)))->Wait().ok());
      }
    });
    threads.emplace_back([&, tag] {
      for (int i = 0; i < kMessages; ++i) {
        std::vector<int> got(kNumbers);
        const auto transfer =
            groups[1]->wires().Receive(0, tag, std::as_writable_bytes(std::span(got)));
        EXPECT_TRUE(transfer->Wait().ok());
        EXPECT_EQ(got, std::vector<int>(kNumbers, tag * 1000 + i));
      }
    });
  }
}

TEST_F(RankGroupTest, NewsReachAllOthers) {
  const std::vector<Group> groups = GroupOf(3);
  const std::string longest(RankGroup::kMaxNews, 'x');
  for (const std::string& news : {std::string("at work"), longest}) {
    groups[1]->Show(news);
    groups[1]->Show(news);
    groups[1]->Show(longest + "y");  // Too long: the others keep the news before.
    for (const int reader : {0, 2}) {
      while (groups[reader]->NewsOf(1) != news) std::this_thread::yield();
      EXPECT_EQ(groups[reader]->NewsOf(reader), "");
    }
  }
}

TEST_F(RankGroupTest, ALostRankEndsTheWaitsOfTheOthers) {
  std::vector<Group> groups = GroupOf(2);
  int got = 0;
  const auto receiving =
      groups[0]->wires().Receive(1, 3, std::as_writable_bytes(std::span(&got, 1)));
  groups[1].reset();
  const absl::Status lost = receiving->Wait();
  EXPECT_EQ(lost.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(lost.message()), HasSubstr("rank 1 (process "));
}

TEST_F(RankGroupTest, AbortEndsTheWaitsAndAllLaterOnes) {
  const std::vector<Group> groups = GroupOf(2);
  int got = 0;
  const auto bytes = std::as_writable_bytes(std::span(&got, 1));
  const auto receiving = groups[0]->wires().Receive(1, 3, bytes);
  std::jthread aborter([&] { groups[0]->wires().Abort(absl::CancelledError("the end")); });
  EXPECT_EQ(receiving->Wait(), absl::CancelledError("the end"));
  EXPECT_EQ(groups[0]->wires().Send(1, 3, bytes)->Wait(), absl::CancelledError("the end"));
}

// Nothing of a lost group reaches the next one.
TEST_F(RankGroupTest, TheNextGroupOfALeaderIsANewEpoch) {
  GroupOf(2);
  const std::vector<Group> groups = GroupOf(2);
  EXPECT_EQ(groups[0]->epoch(), 2);
  EXPECT_EQ(groups[1]->epoch(), 2);
  int sent = 5;
  int got = 0;
  const auto receiving =
      groups[1]->wires().Receive(0, 1, std::as_writable_bytes(std::span(&got, 1)));
  EXPECT_TRUE(groups[0]->wires().Send(1, 1, std::as_bytes(std::span(&sent, 1)))->Wait().ok());
  EXPECT_TRUE(receiving->Wait().ok());
  EXPECT_EQ(got, 5);
}

// One by one, so that the order of joining is another.
TEST_F(RankGroupTest, RanksGoByWishesFirst) {
  std::vector<Joining> joining;
  std::jthread one_by_one([&] {
    for (const int wish : {0, 3, 1}) {
      const std::size_t there = arrived_;
      joining.push_back(JoinInAThread(leader_->port(), kSecret, wish));
      while (arrived_ == there) std::this_thread::yield();
    }
  });
  on_joined_ = [this] { ++arrived_; };
  const absl::StatusOr<Group> leader = leader_->Gather({.size = 4});
  ASSERT_TRUE(leader.ok()) << leader.status();
  one_by_one.join();
  std::vector<int> ranks;
  std::vector<absl::StatusOr<Group>> groups;
  for (Joining& one : joining) groups.push_back(one.get());
  for (const absl::StatusOr<Group>& group : groups) ranks.push_back((*group)->rank());
  EXPECT_THAT(ranks, ElementsAre(3, 2, 1));
}

TEST_F(RankGroupTest, AGatheringSaysHowManyAreThere) {
  std::vector<int> there;
  std::vector<Joining> joining;
  for (int i = 0; i < 2; ++i) joining.push_back(JoinInAThread(leader_->port()));
  const absl::StatusOr<Group> leader =
      leader_->Gather({.size = 3, .on_there = [&](int count) { there.push_back(count); }});
  ASSERT_TRUE(leader.ok()) << leader.status();
  EXPECT_EQ(there.back(), 3);
  for (Joining& one : joining) EXPECT_TRUE(one.get().ok());
}

TEST_F(RankGroupTest, AnotherSecretIsRefusedAndTheLeaderWaitsOn) {
  Joining other = JoinInAThread(leader_->port(), "another secret here");
  std::jthread right([&] {
    const absl::StatusOr<Group> refused = other.get();
    EXPECT_EQ(refused.status().code(), absl::StatusCode::kPermissionDenied);
    EXPECT_THAT(std::string(refused.status().message()),
                HasSubstr("another secret, or another version of Millrace: give both"));
    EXPECT_TRUE(JoinInAThread(leader_->port()).get().ok());
  });
  EXPECT_TRUE(leader_->Gather({.size = 2}).ok());
  EXPECT_THAT(refused_, ElementsAre(HasSubstr("it does not have this secret")));
}

// Strangers write what they like to the port; the store drops them.
TEST_F(RankGroupTest, GarbageOnThePortHarmsNobody) {
  std::vector<Descriptor> strangers;
  for (const std::string& text :
       {std::string("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), std::string(5000, '\xff'),
        std::string("\x16\x03\x01\x02", 4), std::string()}) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(leader_->port()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    strangers.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(
        ::connect(strangers.back().value(), reinterpret_cast<sockaddr*>(&address), sizeof(address)),
        0);
    ::send(strangers.back().value(), text.data(), text.size(), MSG_NOSIGNAL);
  }
  EXPECT_EQ(GroupOf(2).size(), 2u);
}

// Rank 1 waits for rank 0, which waits for rank 2: all hear what rank 2 says.
TEST_F(RankGroupTest, AFailedRankTellsAllOthersWhy) {
  std::vector<Group> groups = GroupOf(3);
  int got = 0;
  const auto bytes = std::as_writable_bytes(std::span(&got, 1));
  const auto of_1 = groups[1]->wires().Receive(0, 3, bytes);
  const auto of_0 = groups[0]->wires().Receive(1, 3, bytes);
  groups[2]->wires().Abort(absl::InternalError("a layer broke"));
  for (const auto& waiting : {&of_0, &of_1}) {
    const absl::Status end = (*waiting)->Wait();
    EXPECT_EQ(end.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(std::string(end.message()),
                AllOf(HasSubstr("rank 2 (process "), HasSubstr("): a layer broke")));
  }
  // No other processes would help.
  for (const Group& group : groups) EXPECT_TRUE(group->lost().ok()) << group->lost();
}

TEST_F(RankGroupTest, AProcessThatIsAskedToEndIsLostForTheOthers) {
  std::vector<Group> groups = GroupOf(3);
  int got = 0;
  const auto bytes = std::as_writable_bytes(std::span(&got, 1));
  const auto of_1 = groups[1]->wires().Receive(0, 3, bytes);
  const auto of_0 = groups[0]->wires().Receive(1, 3, bytes);
  groups[2]->Leave();
  EXPECT_FALSE(of_0->Wait().ok());
  EXPECT_FALSE(of_1->Wait().ok());
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(groups[rank]->lost().code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(std::string(groups[rank]->lost().message()), HasSubstr("rank 2 (process "));
  }
}

// MILLRACE_TEST_RANK_GROUPS is the number of groups.
TEST_F(RankGroupTest, GroupsLeaveNothingBehind) {
  const auto count = [](const char* folder) {
    return std::distance(std::filesystem::directory_iterator(folder), {});
  };
  const char* const wanted = std::getenv("MILLRACE_TEST_RANK_GROUPS");
  const int groups = wanted != nullptr ? std::atoi(wanted) : 12;
  { const auto first = GroupOf(2); }
  const auto files = count("/proc/self/fd");
  const auto threads = count("/proc/self/task");
  for (int i = 0; i < groups; ++i) const auto group = GroupOf(2);
  EXPECT_LE(count("/proc/self/fd"), files + 1);
  EXPECT_LE(count("/proc/self/task"), threads + 1);
}

// The end of a rank that is ready does not disturb the others.
TEST_F(RankGroupTest, ARankThatLeavesWellIsNotLost) {
  std::vector<Group> groups = GroupOf(3);
  groups[2].reset();
  int sent = 5;
  int got = 0;
  const auto receiving =
      groups[1]->wires().Receive(0, 1, std::as_writable_bytes(std::span(&got, 1)));
  std::this_thread::sleep_for(std::chrono::milliseconds(700));  // More than two beats.
  EXPECT_TRUE(groups[0]->wires().Send(1, 1, std::as_bytes(std::span(&sent, 1)))->Wait().ok());
  EXPECT_TRUE(receiving->Wait().ok());
}

// Gloo ends a wait after the limit for connecting, unless it is told otherwise.
TEST(GlooGroupTest, AWaitIsLongerThanTheLimitForConnecting) {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  const auto make = [&](int rank) {
    return std::make_unique<GlooGroup>(GlooGroup::Options{.store = store,
                                                          .address = "127.0.0.1",
                                                          .rank = rank,
                                                          .names = {"a", "b"},
                                                          .pair_limit = std::chrono::seconds(1)});
  };
  auto other = std::async(std::launch::async, [&] { return make(1); });
  const auto group = make(0);
  const auto second = other.get();
  int sent = 5;
  int got = 0;
  auto receiving = std::async(std::launch::async, [&] {
    return second->wires().Receive(0, 1, std::as_writable_bytes(std::span(&got, 1)))->Wait();
  });
  EXPECT_EQ(receiving.wait_for(std::chrono::milliseconds(2500)), std::future_status::timeout);
  EXPECT_TRUE(group->wires().Send(1, 1, std::as_bytes(std::span(&sent, 1)))->Wait().ok());
  EXPECT_TRUE(receiving.get().ok());
  EXPECT_EQ(got, 5);
}

TEST_F(RankGroupTest, AStopEndsBothSides) {
  std::stop_source stop;
  on_joined_ = [&] { stop.request_stop(); };
  auto joining = std::async(std::launch::async, [&] {
    return JoinLeader({.host = "127.0.0.1", .port = leader_->port(), .secret = kSecret},
                      stop.get_token());
  });
  EXPECT_EQ(leader_->Gather({.size = 5, .stop = stop.get_token()}).status().code(),
            absl::StatusCode::kCancelled);
  EXPECT_EQ(joining.get().status().code(), absl::StatusCode::kCancelled);
  EXPECT_THAT(joined_, ElementsAre(AllOf(HasSubstr("process "), HasSubstr(", 3 missing"))));
}

TEST_F(RankGroupTest, AProcessThatLeavesBeforeTheStartIsNotCounted) {
  std::stop_source leaves;
  on_joined_ = [&] { leaves.request_stop(); };
  auto leaving = std::async(std::launch::async, [&] {
    return JoinLeader({.host = "127.0.0.1", .port = leader_->port(), .secret = kSecret},
                      leaves.get_token());
  });
  std::jthread others([&] {
    EXPECT_EQ(leaving.get().status().code(), absl::StatusCode::kCancelled);
    Joining second = JoinInAThread(leader_->port());
    EXPECT_TRUE(JoinInAThread(leader_->port()).get().ok());
    EXPECT_TRUE(second.get().ok());
  });
  const auto gathered = leader_->Gather({.size = 3});
  EXPECT_TRUE(gathered.ok()) << gathered.status();
}

// After a Gather() that was not wanted, the processes still wait.
TEST_F(RankGroupTest, JoinedProcessesWaitForTheNextCall) {
  std::stop_source stop;
  on_joined_ = [&] { stop.request_stop(); };
  Joining joining = JoinInAThread(leader_->port());
  EXPECT_EQ(leader_->Gather({.size = 3, .stop = stop.get_token()}).status().code(),
            absl::StatusCode::kCancelled);
  EXPECT_TRUE(leader_->Gather({.size = 2}).ok());
  EXPECT_TRUE(joining.get().ok());
}

// A greeting is for one arrival: a process without the secret cannot use a copy of it.
TEST_F(RankGroupTest, ACopiedGreetingIsRefused) {
  on_joined_ = [&] {
    c10d::TCPStoreOptions options;
    options.port = static_cast<std::uint16_t>(leader_->port());
    options.waitWorkers = false;
    c10d::TCPStore store("127.0.0.1", options);
    const auto arrival = store.add("millrace/arrivals", 1);
    store.set(absl::StrCat("millrace/hello/", arrival), store.get("millrace/hello/1"));
    on_joined_ = nullptr;
  };
  Joining first = JoinInAThread(leader_->port());
  std::jthread second([&] {
    while (refused_count_ == 0) std::this_thread::yield();
    EXPECT_TRUE(JoinInAThread(leader_->port()).get().ok());
  });
  const auto gathered = leader_->Gather({.size = 3});
  EXPECT_TRUE(gathered.ok()) << gathered.status();
  EXPECT_TRUE(first.get().ok());
  EXPECT_THAT(refused_, ElementsAre(HasSubstr("it does not have this secret")));
}

// A socket that accepts and says nothing.
TEST_F(RankGroupTest, AStopEndsTheTryToJoinASilentProgram) {
  const auto silent = BindTo("127.0.0.1", 0);
  ASSERT_TRUE(silent.ok()) << silent.status();
  ASSERT_EQ(::listen(silent->descriptor.value(), 5), 0);
  std::stop_source stop;
  auto joining = std::async(std::launch::async, [&] {
    return JoinLeader({.host = "127.0.0.1", .port = silent->port, .secret = kSecret},
                      stop.get_token());
  });
  stop.request_stop();
  EXPECT_EQ(joining.get().status().code(), absl::StatusCode::kCancelled);
}

TEST_F(RankGroupTest, WrongOptionsAreRefusedInWords) {
  const auto listening = [](const std::string& host, int port, const std::string& secret) {
    return std::string(
        RankLeader::Listen({.host = host, .port = port, .secret = secret}).status().message());
  };
  EXPECT_THAT(listening("127.0.0.1", 0, "short"), HasSubstr("has 5 bytes; it needs 16"));
  EXPECT_THAT(listening("0.0.0.0", 0, kSecret), HasSubstr("0.0.0.0 is every address of this host"));
  EXPECT_THAT(listening("::", 0, kSecret), HasSubstr(":: is every address"));
  EXPECT_THAT(listening("192.0.2.1", 0, kSecret),
              HasSubstr("this host does not have that address"));
  EXPECT_THAT(listening("127.0.0.1", leader_->port(), kSecret),
              HasSubstr("another program uses this port; choose another one"));
  const auto nobody = BindTo("127.0.0.1", 0);  // It does not listen.
  ASSERT_TRUE(nobody.ok()) << nobody.status();
  const auto unanswered =
      JoinLeader({.host = "127.0.0.1", .port = nobody->port, .secret = kSecret}, {});
  EXPECT_EQ(unanswered.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(unanswered.status().message()),
              HasSubstr(absl::StrCat("no leader answers at 127.0.0.1:", nobody->port,
                                     ": Connection refused")));
}

}  // namespace
}  // namespace millrace::pipeline
