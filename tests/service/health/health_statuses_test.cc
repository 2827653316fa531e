#include "service/health/health_statuses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::service {
namespace {

using ::testing::Optional;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

TEST(HealthStatusesTest, KnowsWhatWasSaidOfEachName) {
  HealthStatuses statuses;
  EXPECT_EQ(statuses.Find(""), std::nullopt);
  statuses.Set("", true);
  statuses.Set("predictions", false);
  EXPECT_THAT(statuses.Find(""), Optional(true));
  EXPECT_THAT(statuses.Find("predictions"), Optional(false));
  EXPECT_THAT(statuses.All(), UnorderedElementsAre(Pair("", true), Pair("predictions", false)));
}

TEST(HealthStatusesTest, NothingServesOnceItDrains) {
  HealthStatuses statuses;
  statuses.Set("", true);
  statuses.Drain();
  statuses.Set("", true);
  statuses.Set("late", true);
  EXPECT_THAT(statuses.All(), UnorderedElementsAre(Pair("", false), Pair("late", false)));
}

TEST(HealthStatusesTest, CallsListenersAfterEachChangeAndAtNoOtherTime) {
  HealthStatuses statuses;
  std::vector<std::optional<bool>> heard;
  statuses.Listen([&] { heard.push_back(statuses.Find("a")); });
  statuses.Set("a", true);
  statuses.Set("a", true);
  statuses.Set("a", false);
  statuses.Set("a", true);
  statuses.Drain();
  statuses.Drain();
  EXPECT_EQ(heard, (std::vector<std::optional<bool>>{true, false, true, false}));
}

}  // namespace
}  // namespace millrace::service
