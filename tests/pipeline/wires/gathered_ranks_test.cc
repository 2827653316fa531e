#include "pipeline/wires/gathered_ranks.h"

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "pipeline/wires/absent_wires.h"

namespace millrace::pipeline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A group of two that a test loses.
class Pair final : public RankGroup {
 public:
  explicit Pair(std::int64_t epoch) : epoch_(epoch) {}

  Wires& wires() override { return wires_; }
  [[nodiscard]] int rank() const override { return 0; }
  [[nodiscard]] int size() const override { return 2; }
  [[nodiscard]] std::int64_t epoch() const override { return epoch_; }
  [[nodiscard]] std::string name(int rank) const override {
    return rank == 0 ? "this one" : "the other";
  }
  [[nodiscard]] absl::Status lost() const override {
    return absl::UnavailableError("the other is lost");
  }
  void Show(std::string /*news*/) override {}
  [[nodiscard]] std::string NewsOf(int /*rank*/) const override { return ""; }
  void Leave() override {}

 private:
  AbsentWires wires_;
  const std::int64_t epoch_;
};

absl::StatusOr<RankGroup*> NextOf(GatheredRanks& ranks) {
  while (true) {
    auto group = ranks.Next();
    if (!group.ok() || *group != nullptr) return group;
    std::this_thread::yield();
  }
}

TEST(GatheredRanksTest, GathersAgainAfterEachLoss) {
  std::int64_t epoch = 0;
  GatheredRanks ranks(
      [&](const JoinRequest& request) {
        EXPECT_EQ(request.size, 2);
        return std::make_unique<Pair>(++epoch);
      },
      2);
  for (int group = 1; group <= 5; ++group) {
    const auto next = NextOf(ranks);
    ASSERT_TRUE(next.ok()) << next.status();
    EXPECT_EQ((*next)->epoch(), group);
    EXPECT_EQ(ranks.group(), *next);
    EXPECT_TRUE(ranks.missing().ok());
    EXPECT_EQ(ranks.figures().groups, group);
    EXPECT_EQ(ranks.figures().joined, 1);  // The other one is lost already.
    EXPECT_THAT(ranks.figures().names, ElementsAre("this one", "the other"));
    ASSERT_TRUE(ranks.Replace(/*served=*/true).ok());
    EXPECT_EQ(ranks.group(), nullptr);
    EXPECT_TRUE(absl::IsUnavailable(ranks.missing()));
    EXPECT_THAT(std::string(ranks.missing().message()), HasSubstr("the other is lost"));
    EXPECT_EQ(ranks.figures().lost, group);
    EXPECT_THAT(ranks.figures().names, IsEmpty());
  }
}

TEST(GatheredRanksTest, SayHowManyAreMissing) {
  std::promise<void> come;
  std::promise<void> one_is_there;
  GatheredRanks ranks(
      [&](const JoinRequest& request) -> std::unique_ptr<RankGroup> {
        request.on_there(2);
        one_is_there.set_value();
        come.get_future().wait();
        return std::make_unique<Pair>(1);
      },
      4);
  one_is_there.get_future().wait();
  EXPECT_EQ(ranks.missing().message(), "waiting for 2 processes");
  EXPECT_EQ(ranks.figures().expected, 4);
  EXPECT_EQ(ranks.figures().joined, 2);
  const auto early = ranks.Next();
  ASSERT_TRUE(early.ok());
  EXPECT_EQ(*early, nullptr);
  come.set_value();
  ASSERT_TRUE(NextOf(ranks).ok());
  EXPECT_TRUE(ranks.missing().ok());
}

TEST(GatheredRanksTest, AFailureToJoinIsFinal) {
  GatheredRanks ranks(
      [&](const JoinRequest&) -> absl::StatusOr<std::unique_ptr<RankGroup>> {
        return absl::InternalError("the door is closed");
      },
      2);
  EXPECT_EQ(NextOf(ranks).status().message(), "the door is closed");
  EXPECT_TRUE(ranks.missing().ok());
}

TEST(GatheredRanksTest, DoNotGatherForEverWithoutUse) {
  FakeClock clock;
  GatheredRanks ranks([&](const JoinRequest&) { return std::make_unique<Pair>(1); }, 2, clock);
  const auto lose = [&](bool served) {
    EXPECT_TRUE(NextOf(ranks).ok());
    return ranks.Replace(served);
  };
  // The minute slides: the first of four losses is too long ago for the third, but not the second.
  EXPECT_TRUE(lose(false).ok());
  clock.Advance(std::chrono::seconds(50));
  EXPECT_TRUE(lose(false).ok());
  clock.Advance(std::chrono::seconds(20));
  EXPECT_TRUE(lose(false).ok());
  EXPECT_TRUE(lose(true).ok());
  // Slowly, or with use between them, any number of losses is fine.
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(lose(false).ok());
    clock.Advance(std::chrono::seconds(31));
    EXPECT_TRUE(lose(false).ok());
    clock.Advance(std::chrono::seconds(31));
    EXPECT_TRUE(lose(true).ok());
  }
  EXPECT_TRUE(lose(false).ok());
  EXPECT_TRUE(lose(false).ok());
  const absl::Status given_up = lose(false);
  EXPECT_THAT(std::string(given_up.message()),
              HasSubstr("the other is lost; 3 times within a minute"));
  EXPECT_TRUE(ranks.missing().ok());
}

TEST(GatheredRanksTest, ProcessesThatCannotConnectAreGatheredAgain) {
  std::atomic<int> tries = 0;
  GatheredRanks ranks(
      [&](const JoinRequest&) -> absl::StatusOr<std::unique_ptr<RankGroup>> {
        if (++tries == 1) return absl::UnavailableError("no route to the other");
        return std::make_unique<Pair>(1);
      },
      2);
  while (tries == 0) std::this_thread::yield();
  ASSERT_TRUE(NextOf(ranks).ok());
  EXPECT_EQ(tries, 2);
}

TEST(GatheredRanksTest, SayWhyTheyCannotConnect) {
  std::promise<void> again;
  std::atomic<int> tries = 0;
  GatheredRanks ranks(
      [&](const JoinRequest& request) -> absl::StatusOr<std::unique_ptr<RankGroup>> {
        if (++tries == 1) return absl::UnavailableError("no route to the other");
        again.set_value();
        while (!request.stop.stop_requested()) std::this_thread::yield();
        return absl::CancelledError("stopped");
      },
      2);
  again.get_future().wait();
  EXPECT_EQ(ranks.missing().message(), "waiting for 1 process: no route to the other");
}

TEST(GatheredRanksTest, AStopEndsTheGathering) {
  std::promise<absl::Status> ended;
  GatheredRanks ranks(
      [&](const JoinRequest& request) -> absl::StatusOr<std::unique_ptr<RankGroup>> {
        while (!request.stop.stop_requested()) std::this_thread::yield();
        ended.set_value(absl::CancelledError("stopped"));
        return absl::CancelledError("stopped");
      },
      2);
  ranks.StopGathering();
  EXPECT_EQ(ended.get_future().get().message(), "stopped");
}

}  // namespace
}  // namespace millrace::pipeline
