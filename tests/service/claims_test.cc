#include "service/claims.h"

#include <optional>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::service {
namespace {

using ::testing::ElementsAre;

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

TEST(ClaimsTest, WhoHasANameTellsFirstAndLast) {
  std::vector<std::string> told;
  Claims claims([&](const std::string& name) { told.push_back(name + " taken"); },
                [&](const std::string& name) { told.push_back(name + " released"); });
  {
    absl::StatusOr<Claims::Claim> claim = claims.Take("street", {});
    const Claims::Claim moved = *std::move(claim);
    told.emplace_back("change");
  }
  EXPECT_THAT(told, ElementsAre("street taken", "change", "street released"));
}

}  // namespace
}  // namespace millrace::service
