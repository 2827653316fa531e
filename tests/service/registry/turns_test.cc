#include "service/registry/turns.h"

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/mutex.h"

namespace millrace::service {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr auto kLong = std::chrono::hours(1);
constexpr auto kAtOnce = std::chrono::milliseconds(0);

void AwaitWaiting(const Turns& turns, std::size_t count) {
  while (turns.waiting() < count) std::this_thread::yield();
}

TEST(TurnsTest, OneIsAtWorkAtATimeInTheOrderOfTheCalls) {
  Turns turns({.max_turn = kLong});
  std::optional<absl::StatusOr<Turns::Turn>> first(turns.Take("street", {}));
  ASSERT_TRUE(first->ok());
  Mutex mu;
  std::vector<int> order;
  std::atomic<int> at_work = 0;
  std::vector<std::jthread> others;
  for (int i = 0; i < 4; ++i) {
    others.emplace_back([&, i] {
      const auto turn = turns.Take("yard", {});
      EXPECT_TRUE(turn.ok());
      EXPECT_EQ(++at_work, 1);
      {
        const MutexLock lock(mu);
        order.push_back(i);
      }
      --at_work;
    });
    AwaitWaiting(turns, static_cast<std::size_t>(i) + 1);
  }
  EXPECT_THAT(order, IsEmpty());
  first.reset();
  others.clear();
  EXPECT_THAT(order, ElementsAre(0, 1, 2, 3));
}

TEST(TurnsTest, AStopEndsTheWait) {
  Turns turns({.max_turn = kLong});
  const auto first = turns.Take("street", {});
  std::stop_source stop;
  std::jthread second(
      [&] { EXPECT_TRUE(absl::IsCancelled(turns.Take("yard", stop.get_token()).status())); });
  AwaitWaiting(turns, 1);
  stop.request_stop();
  second.join();
  EXPECT_EQ(turns.waiting(), 0U);
}

// Hangs, and is killed by the test's time limit, if a turn without end keeps others waiting.
TEST(TurnsTest, ATurnWithoutEndIsOvertakenOnceAndKeepsNoOtherWaiting) {
  std::vector<std::string> overtaken;
  Turns turns({.max_turn = kAtOnce,
               .on_overtaken = [&](const std::string& holder) { overtaken.push_back(holder); }});
  std::optional<absl::StatusOr<Turns::Turn>> hangs(turns.Take("hangs", {}));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(turns.Take("yard", {}).ok());
  EXPECT_THAT(overtaken, ElementsAre("hangs"));
}

TEST(TurnsTest, TheEndOfAnOvertakenTurnEndsNoOther) {
  std::vector<std::string> overtaken;
  Turns turns({.max_turn = kAtOnce,
               .on_overtaken = [&](const std::string& holder) { overtaken.push_back(holder); }});
  std::optional<absl::StatusOr<Turns::Turn>> hangs(turns.Take("hangs", {}));
  const auto later = turns.Take("door", {});
  hangs.reset();
  EXPECT_TRUE(turns.Take("gate", {}).ok());
  EXPECT_THAT(overtaken, ElementsAre("hangs", "door")) << "the turn of the door was not over";
}

}  // namespace
}  // namespace millrace::service
