#include "service/rpc/call_thread.h"

#include <atomic>
#include <future>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/no_more_threads.h"

namespace millrace::service {
namespace {

using ::testing::ElementsAre;

// Behind work that the test does not let go on, with the queue full.
TEST(CallThreadTest, WorkThatIsTakenBackLeavesItsPlaceAndIsNotDone) {
  std::promise<void> begun;
  std::promise<void> go_on;
  std::vector<int> done;
  {
    CallThread thread({.max_waiting = 2, .full = absl::UnavailableError("full")});
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

// Hangs, and is killed by the test's timeout, where one waits for another.
TEST(CallThreadTest, SoManyAreDoneAtATime) {
  constexpr int kAtOnce = 3;
  std::promise<void> go_on;
  const std::shared_future<void> gone_on = go_on.get_future().share();
  std::atomic<int> begun = 0;
  std::promise<void> all_begun;
  const int owner = 0;
  CallThread thread(
      {.max_waiting = 1, .max_threads = kAtOnce, .full = absl::UnavailableError("full")});
  for (int i = 0; i < kAtOnce; ++i) {
    ASSERT_TRUE(thread
                    .Post(&owner,
                          [&] {
                            if (++begun == kAtOnce) all_begun.set_value();
                            gone_on.wait();
                          })
                    .ok());
  }
  all_begun.get_future().wait();
  EXPECT_TRUE(thread.Post(&owner, [] {}).ok()) << "one more may wait";
  EXPECT_FALSE(thread.Post(&owner, [] {}).ok());
  go_on.set_value();
}

// Hangs, and is killed by the test's timeout, where Post() throws.
TEST(CallThreadTest, WorkForWhichTheSystemHasNoThreadWaitsForOneThatThereIs) {
  std::promise<void> begun;
  std::promise<void> go_on;
  std::vector<int> done;
  {
    CallThread thread({.max_threads = 2, .full = absl::UnavailableError("full")});
    const int owner = 0;
    ASSERT_TRUE(thread
                    .Post(&owner,
                          [&] {
                            begun.set_value();
                            go_on.get_future().wait();
                            done.push_back(1);
                          })
                    .ok());
    begun.get_future().wait();
    {
      const NoMoreThreads no_more_threads;
      EXPECT_TRUE(thread.Post(&owner, [&done] { done.push_back(2); }).ok());
    }
    go_on.set_value();
  }
  EXPECT_THAT(done, ElementsAre(1, 2));
}

}  // namespace
}  // namespace millrace::service
