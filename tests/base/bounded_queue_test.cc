#include "base/bounded_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace millrace {
namespace {

using ::testing::Eq;
using ::testing::Optional;

/// Pops until the queue is closed and empty.
std::vector<int> PopAll(BoundedQueue<int>& queue) {
  std::vector<int> items;
  while (const std::optional<int> item = queue.Pop()) items.push_back(*item);
  return items;
}

TEST(BoundedQueueTest, GivesItemsInTheOrderTheyCame) {
  BoundedQueue<int> queue(/*capacity=*/3);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(queue.PushOrWait(i));
  queue.Close();
  EXPECT_THAT(PopAll(queue), ::testing::ElementsAre(0, 1, 2));
}

TEST(BoundedQueueTest, HandsBackTheOldestWhenFull) {
  BoundedQueue<int> queue(/*capacity=*/2);
  EXPECT_EQ(queue.PushOrDropOldest(1), std::nullopt);
  EXPECT_EQ(queue.PushOrDropOldest(2), std::nullopt);
  EXPECT_THAT(queue.PushOrDropOldest(3), Optional(Eq(1)));
  EXPECT_EQ(queue.size(), 2u);
}

TEST(BoundedQueueTest, HandsBackTheNewItemOnceClosed) {
  BoundedQueue<int> queue(/*capacity=*/2);
  EXPECT_EQ(queue.PushOrDropOldest(1), std::nullopt);
  queue.Close();
  EXPECT_THAT(queue.PushOrDropOldest(2), Optional(Eq(2)));
  EXPECT_THAT(PopAll(queue), ::testing::ElementsAre(1));
}

TEST(BoundedQueueTest, LosesNothingBetweenAFastProducerAndASlowConsumer) {
  BoundedQueue<int> queue(/*capacity=*/2);
  std::jthread producer([&] {
    for (int i = 0; i < 1000; ++i) EXPECT_TRUE(queue.PushOrWait(i));
    queue.Close();
  });
  const std::vector<int> items = PopAll(queue);
  ASSERT_EQ(items.size(), 1000u);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(items[static_cast<std::size_t>(i)], i);
}

TEST(BoundedQueueTest, NeverHoldsMoreThanItsCapacity) {
  BoundedQueue<int> queue(/*capacity=*/3);
  std::jthread producer([&] {
    for (int i = 0; i < 500; ++i) static_cast<void>(queue.PushOrDropOldest(i));
    queue.Close();
  });
  int last = -1;
  while (const std::optional<int> item = queue.Pop()) {
    EXPECT_LE(queue.size(), 3u);
    EXPECT_GT(*item, last);
    last = *item;
  }
  EXPECT_EQ(last, 499);
}

// Each of these hangs until the test's timeout if Close() wakes no waiting thread.
TEST(BoundedQueueTest, CloseWakesAWaitingConsumer) {
  BoundedQueue<int> queue(/*capacity=*/1);
  std::optional<int> popped = 7;
  std::jthread consumer([&] { popped = queue.Pop(); });
  queue.Close();
  consumer.join();
  EXPECT_EQ(popped, std::nullopt);
}

TEST(BoundedQueueTest, CloseWakesAWaitingProducer) {
  BoundedQueue<int> queue(/*capacity=*/1);
  ASSERT_TRUE(queue.PushOrWait(1));
  bool pushed = true;
  std::jthread producer([&] { pushed = queue.PushOrWait(2); });
  queue.Close();
  producer.join();
  EXPECT_FALSE(pushed);
  EXPECT_THAT(PopAll(queue), ::testing::ElementsAre(1));
}

TEST(BoundedQueueTest, CarriesWhatCanOnlyBeMoved) {
  BoundedQueue<std::unique_ptr<int>> queue(/*capacity=*/1);
  ASSERT_TRUE(queue.PushOrWait(std::make_unique<int>(5)));
  const std::optional<std::unique_ptr<int>> popped = queue.Pop();
  ASSERT_TRUE(popped.has_value());
  EXPECT_EQ(**popped, 5);
}

TEST(BoundedQueueDeathTest, RefusesACapacityOfZero) {
  EXPECT_DEATH(BoundedQueue<int>(0), "capacity > 0");
}

}  // namespace
}  // namespace millrace
