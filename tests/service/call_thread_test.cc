#include "service/call_thread.h"

#include <future>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::service {
namespace {

using ::testing::ElementsAre;

// Behind work that the test does not let go on, with the queue full.
TEST(CallThreadTest, WorkThatIsTakenBackLeavesItsPlaceAndIsNotDone) {
  std::promise<void> begun;
  std::promise<void> go_on;
  std::vector<int> done;
  {
    CallThread thread({.most_waiting = 2, .full = absl::UnavailableError("full")});
    const int owners[4] = {};
    ASSERT_TRUE(thread
                    .Post(&owners[0],
                          [&] {
                            begun.set_value();
                            go_on.get_future().wait();
                          })
                    .ok());
    begun.get_future().wait();
    for (const int i : {1, 2}) {
      ASSERT_TRUE(thread.Post(&owners[i], [&done, i] { done.push_back(i); }).ok());
    }
    EXPECT_FALSE(thread.Post(&owners[3], [] {}).ok());
    EXPECT_TRUE(thread.TakeBack(&owners[1]));
    EXPECT_FALSE(thread.TakeBack(&owners[1]));
    EXPECT_FALSE(thread.TakeBack(&owners[0])) << "it has begun";
    EXPECT_TRUE(thread.Post(&owners[3], [&done] { done.push_back(3); }).ok());
    go_on.set_value();
  }
  EXPECT_THAT(done, ElementsAre(2, 3));
}

}  // namespace
}  // namespace millrace::service
