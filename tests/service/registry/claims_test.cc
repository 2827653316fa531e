#include "service/registry/claims.h"

#include <optional>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error_reason.h"

namespace millrace::service {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(ClaimsTest, OneNameWaitsForNoOther) {
  Claims claims;
  const auto street = claims.Take("street", {});
  EXPECT_TRUE(street.ok());
  EXPECT_TRUE(claims.Take("yard", {}).ok());
}

TEST(ClaimsTest, OneAtATimeHasAName) {
  Claims claims;
  std::optional<absl::StatusOr<Claims::Claim>> first(claims.Take("street", {}));
  bool released = false;
  std::jthread second([&] {
    EXPECT_TRUE(claims.Take("street", {}).ok());
    EXPECT_TRUE(released);
  });
  released = true;
  first.reset();
}

// Hangs, and is killed by the test's timeout, where it waits on.
TEST(ClaimsTest, WhoIsToStopWaitsNoLonger) {
  Claims claims;
  const auto first = claims.Take("street", {});
  std::stop_source stop;
  std::jthread second(
      [&] { EXPECT_TRUE(absl::IsCancelled(claims.Take("street", stop.get_token()).status())); });
  stop.request_stop();
  second.join();
  EXPECT_TRUE(absl::IsCancelled(claims.Take("yard", stop.get_token()).status()));
}

/// Waits until this number of calls waits for "street", which is held.
void AwaitWaiting(Claims& claims, std::size_t waiting) {
  std::stop_source stopped;
  stopped.request_stop();
  while (!absl::IsUnavailable(claims.Take("street", stopped.get_token(), waiting).status())) {
    std::this_thread::yield();
  }
}

TEST(ClaimsTest, CallsHaveTheirTurnsInTheirOrder) {
  Claims claims;
  std::optional<absl::StatusOr<Claims::Claim>> first(claims.Take("street", {}));
  std::vector<int> turns;
  {
    std::vector<std::jthread> others;
    for (int i = 0; i < 8; ++i) {
      others.emplace_back([&claims, &turns, i] {
        const auto claim = claims.Take("street", {});
        turns.push_back(i);
      });
      AwaitWaiting(claims, others.size());
    }
    first.reset();
  }
  EXPECT_THAT(turns, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

// Hangs, and is killed by the test's timeout, where the second keeps its place in the queue.
TEST(ClaimsTest, ACallThatIsToStopLeavesTheQueue) {
  Claims claims;
  std::optional<absl::StatusOr<Claims::Claim>> first(claims.Take("street", {}));
  std::stop_source stop;
  std::jthread second(
      [&] { EXPECT_TRUE(absl::IsCancelled(claims.Take("street", stop.get_token()).status())); });
  AwaitWaiting(claims, 1);
  std::jthread third([&] { EXPECT_TRUE(claims.Take("street", {}).ok()); });
  AwaitWaiting(claims, 2);
  stop.request_stop();
  second.join();
  first.reset();
}

TEST(ClaimsTest, OneTooManyIsToldToTryAgain) {
  Claims claims;
  std::optional<absl::StatusOr<Claims::Claim>> first(claims.Take("street", {}));
  std::jthread second([&] { EXPECT_TRUE(claims.Take("street", {}).ok()); });
  AwaitWaiting(claims, 1);
  const absl::Status refused = claims.Take("street", {}, /*max_waiting=*/1).status();
  EXPECT_TRUE(absl::IsUnavailable(refused));
  EXPECT_EQ(ReasonOf(refused), "TOO_MANY_CHANGES");
  EXPECT_THAT(ValuesOf(refused), ElementsAre(Pair("stream", "street")));
  EXPECT_TRUE(claims.Take("yard", {}, /*max_waiting=*/1).ok());
  first.reset();
}

TEST(ClaimsTest, WhoHasANameTellsFirstAndLast) {
  std::vector<std::string> reported;
  Claims claims([&](const std::string& name) { reported.push_back(name + " taken"); },
                [&](const std::string& name) { reported.push_back(name + " released"); });
  {
    absl::StatusOr<Claims::Claim> claim = claims.Take("street", {});
    const Claims::Claim moved = *std::move(claim);
    reported.emplace_back("change");
  }
  EXPECT_THAT(reported, ElementsAre("street taken", "change", "street released"));
}

}  // namespace
}  // namespace millrace::service
