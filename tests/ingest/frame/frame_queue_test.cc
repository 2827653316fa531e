#include "ingest/frame/frame_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <utility>
#include <vector>

namespace millrace::ingest {
namespace {

using ::testing::Eq;
using ::testing::Field;
using ::testing::Optional;

Frame FrameNumber(std::int64_t number) {
  Frame frame;
  frame.number = number;
  return frame;
}

auto IsFrameNumber(std::int64_t number) { return Optional(Field(&Frame::number, Eq(number))); }

TEST(FrameQueueTest, DropsOldestFrameWhenFull) {
  FrameQueue queue(/*capacity=*/1, WhenFull::kDropOldest);
  queue.Push(FrameNumber(1));
  queue.Push(FrameNumber(2));

  EXPECT_EQ(queue.dropped(), 1u);
  EXPECT_THAT(queue.Pop(), IsFrameNumber(2));
}

TEST(FrameQueueTest, DropsTheNewestWhereToldSo) {
  FrameQueue queue(/*capacity=*/2, WhenFull::kDropNewest);
  for (int i = 0; i < 5; ++i) queue.Push(FrameNumber(i));
  EXPECT_EQ(queue.received(), 5u);
  EXPECT_EQ(queue.dropped(), 3u);
  EXPECT_THAT(queue.Pop(), IsFrameNumber(0));
  queue.Push(FrameNumber(5));
  EXPECT_THAT(queue.Pop(), IsFrameNumber(1));
  EXPECT_THAT(queue.Pop(), IsFrameNumber(5));
}

TEST(FrameQueueTest, WaitsForRoomAndLosesNothing) {
  FrameQueue queue(/*capacity=*/1, WhenFull::kWait);
  std::jthread producer([&] {
    for (int i = 0; i < 100; ++i) queue.Push(FrameNumber(i));
    queue.Close();
  });
  for (int i = 0; i < 100; ++i) EXPECT_THAT(queue.Pop(), IsFrameNumber(i));
  EXPECT_EQ(queue.Pop(), std::nullopt);
  EXPECT_EQ(queue.dropped(), 0u);
}

class LossRecorder final : public FrameLossObserver {
 public:
  explicit LossRecorder(std::vector<QueueLoss>& losses) : losses_(losses) {}
  void Lost(QueueLoss loss) override { losses_.push_back(loss); }

 private:
  std::vector<QueueLoss>& losses_;
};

TEST(FrameQueueTest, NotifiesTheObserverOfALostFrame) {
  std::vector<QueueLoss> losses;
  const auto observed = [&](std::int64_t number) {
    Frame frame = FrameNumber(number);
    frame.loss_observer = std::make_shared<LossRecorder>(losses);
    return frame;
  };
  for (const WhenFull when_full : {WhenFull::kDropOldest, WhenFull::kWait}) {
    losses.clear();
    FrameQueue queue(/*capacity=*/1, when_full);
    queue.Push(observed(1));
    if (when_full == WhenFull::kDropOldest) {
      queue.Push(FrameNumber(2));
      EXPECT_EQ(std::exchange(losses, {}), std::vector{QueueLoss::kFull});
    }
    queue.Close();
    queue.Push(observed(3));
    EXPECT_EQ(losses, std::vector{QueueLoss::kClosed});
  }
}

TEST(FrameQueueTest, CountsFramesThatComeAfterClose) {
  for (const WhenFull when_full : {WhenFull::kDropOldest, WhenFull::kDropNewest, WhenFull::kWait}) {
    FrameQueue queue(/*capacity=*/2, when_full);
    queue.Push(FrameNumber(1));
    queue.Close();
    queue.Push(FrameNumber(2));

    EXPECT_EQ(queue.received(), 2u);
    EXPECT_EQ(queue.rejected_after_close(), 1u);
    EXPECT_EQ(queue.dropped(), 0u);
    EXPECT_THAT(queue.Pop(), IsFrameNumber(1));
    EXPECT_FALSE(queue.Pop().has_value());
  }
}

TEST(FrameQueueTest, CloseCountsTheFrameThatWaitedForRoom) {
  FrameQueue queue(/*capacity=*/1, WhenFull::kWait);
  queue.Push(FrameNumber(1));
  std::jthread producer([&] { queue.Push(FrameNumber(2)); });
  queue.Close();
  producer.join();
  EXPECT_EQ(queue.rejected_after_close(), 1u);
  EXPECT_EQ(queue.waiting(), 1u);
}

TEST(FrameQueueTest, AccountsForEveryFrame) {
  FrameQueue queue(/*capacity=*/3, WhenFull::kDropOldest);
  std::uint64_t popped = 0;
  std::jthread consumer([&] {
    while (popped < 100 && queue.Pop()) ++popped;
  });
  for (int i = 0; i < 5000; ++i) queue.Push(FrameNumber(i));
  queue.Close();
  consumer.join();
  for (int i = 5000; i < 5010; ++i) queue.Push(FrameNumber(i));

  EXPECT_EQ(queue.received(), 5010u);
  EXPECT_EQ(queue.received(),
            popped + queue.dropped() + queue.rejected_after_close() + queue.waiting());
}

}  // namespace
}  // namespace millrace::ingest
