#include "service/net/connection_bounds.h"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::service {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ConnectionBoundsTest : public ::testing::Test {
 protected:
  using Lease = std::unique_ptr<ConnectionBounds::Lease>;

  /// One that waits, and notes when it is closed for another one.
  Lease Waiting(const std::string& client, const std::string& name) {
    Lease lease = bounds_.Admit(client);
    if (lease != nullptr) lease->MayBeClosed([this, name] { closed_.push_back(name); });
    return lease;
  }

  ConnectionBounds bounds_{{.in_all = 4, .per_client = 3}};
  std::vector<std::string> closed_;
};

TEST_F(ConnectionBoundsTest, TheOldestThatWaitsGivesWay) {
  const Lease kept = bounds_.Admit("a");
  const Lease first = Waiting("a", "first");
  const Lease second = Waiting("b", "second");
  const Lease third = Waiting("b", "third");
  EXPECT_THAT(closed_, IsEmpty());
  EXPECT_NE(Waiting("c", "fourth"), nullptr);
  EXPECT_THAT(closed_, ElementsAre("first"));
  EXPECT_EQ(bounds_.counts().turned_away, 1U);
}

TEST_F(ConnectionBoundsTest, AClientWithItsShareGivesWayToItself) {
  const Lease other = Waiting("b", "other");
  const Lease first = Waiting("a", "first");
  const Lease second = Waiting("a", "second");
  const Lease third = Waiting("a", "third");
  const Lease fourth = Waiting("a", "fourth");
  EXPECT_NE(fourth, nullptr);
  EXPECT_THAT(closed_, ElementsAre("first"));
}

TEST_F(ConnectionBoundsTest, NoneThatIsKeptIsClosed) {
  const Lease first = Waiting("a", "first");
  const Lease second = Waiting("a", "second");
  const Lease third = Waiting("a", "third");
  first->Keep();
  EXPECT_NE(Waiting("a", "fourth"), nullptr);
  EXPECT_THAT(closed_, ElementsAre("second"));
  third->Keep();
  const Lease fifth = bounds_.Admit("a");
  EXPECT_EQ(bounds_.Admit("a"), nullptr) << "all of its share are kept";
  EXPECT_NE(bounds_.Admit("b"), nullptr) << "there is room for others";
}

TEST_F(ConnectionBoundsTest, WhoHasEndedMakesRoom) {
  std::vector<Lease> kept;
  for (const char* client : {"a", "a", "b", "b"}) kept.push_back(bounds_.Admit(client));
  EXPECT_EQ(bounds_.counts().open, 4U);
  EXPECT_EQ(bounds_.Admit("c"), nullptr);
  kept.pop_back();
  EXPECT_NE(bounds_.Admit("c"), nullptr);
  EXPECT_EQ(bounds_.counts().open, 3U);
}

TEST_F(ConnectionBoundsTest, TheOnesThatHaveGoneMakeRoomBeforeOthersAreClosed) {
  const Lease waiting = Waiting("a", "waiting");
  std::vector<Lease> gone;
  for (int i = 0; i < 2; ++i) gone.push_back(bounds_.Admit("a"));
  bounds_.SetRelease([&gone] { gone.clear(); });
  EXPECT_NE(bounds_.Admit("a"), nullptr);
  EXPECT_THAT(closed_, IsEmpty());
  EXPECT_EQ(bounds_.counts().turned_away, 0U);
}

TEST_F(ConnectionBoundsTest, OneThatIsClosedMayEndItsLeaseThen) {
  Lease lease = bounds_.Admit("a");
  lease->MayBeClosed([&lease] { lease.reset(); });
  EXPECT_TRUE(bounds_.CloseOldest());
  EXPECT_EQ(lease, nullptr);
  EXPECT_EQ(bounds_.counts().open, 0U);
  EXPECT_FALSE(bounds_.CloseOldest());
}

}  // namespace
}  // namespace millrace::service
