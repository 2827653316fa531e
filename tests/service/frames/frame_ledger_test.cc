#include "service/frames/frame_ledger.h"

#include "ingest/frame/frame_queue.h"

#include <thread>

#include <gtest/gtest.h>

#include "tests/service/support/balanced.h"

namespace millrace::service {
namespace {

ingest::Frame FrameOf(std::int64_t number) {
  ingest::Frame frame;
  frame.number = number;
  return frame;
}

std::uint64_t Dropped(const FrameCounts& counts, DropReason reason) {
  return counts.dropped[static_cast<std::size_t>(reason)];
}

TEST(DropReasonTest, NamesAreThoseOfTheMetricsLabel) {
  EXPECT_EQ(Name(DropReason::kQueueFull), "queue_full");
  EXPECT_EQ(Name(DropReason::kNoPredecessor), "no_predecessor");
  EXPECT_EQ(Name(DropReason::kGap), "gap");
  EXPECT_EQ(Name(DropReason::kRejected), "rejected");
  EXPECT_EQ(Name(DropReason::kShutdown), "shutdown");
}

TEST(FrameLedgerTest, JoinsTheQueuesCountsWithItsOwn) {
  ingest::FrameQueue queue(/*capacity=*/2, ingest::WhenFull::kDropOldest);
  FrameLedger ledger;
  for (std::int64_t number = 0; number < 5; ++number) queue.Push(FrameOf(number));
  ASSERT_TRUE(queue.Pop());
  ledger.Predicted();
  queue.Close();
  queue.Push(FrameOf(5));
  ledger.Dropped(DropReason::kShutdown);

  const FrameCounts counts = ledger.Count(queue);
  EXPECT_EQ(counts.received, 6u);
  EXPECT_EQ(counts.predicted, 1u);
  EXPECT_EQ(Dropped(counts, DropReason::kQueueFull), 3u);
  EXPECT_EQ(Dropped(counts, DropReason::kShutdown), 2u);
  EXPECT_EQ(counts.in_flight, 0u);
  EXPECT_TRUE(Balanced(counts));
}

TEST(FrameLedgerTest, FrameInNobodysBooksIsInFlight) {
  ingest::FrameQueue queue(/*capacity=*/2, ingest::WhenFull::kDropOldest);
  const FrameLedger ledger;
  queue.Push({});
  EXPECT_EQ(ledger.Count(queue).in_flight, 1u);
  ASSERT_TRUE(queue.Pop());
  EXPECT_EQ(ledger.Count(queue).in_flight, 1u);
}

TEST(FrameLedgerTest, FramesThatNothingHoldsAreLost) {
  ingest::FrameQueue queue(/*capacity=*/16, ingest::WhenFull::kDropOldest);
  const FrameLedger ledger;
  for (std::int64_t number = 0; number < 10; ++number) queue.Push(FrameOf(number));
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(queue.Pop());
  std::size_t inside = 8;
  const auto lost = [&] {
    return ledger.Audit(queue, [&] { return queue.waiting() + inside; }).lost;
  };
  EXPECT_EQ(lost(), 0u);
  inside = 5;  // Three are being handed over.
  EXPECT_EQ(lost(), 0u);
  inside = 3;
  EXPECT_EQ(lost(), 2u);
}

TEST(FrameLedgerTest, WhileFramesMoveNoneIsSaidToBeLost) {
  ingest::FrameQueue queue(/*capacity=*/64, ingest::WhenFull::kDropOldest);
  const FrameLedger ledger;
  for (std::int64_t number = 0; number < 10; ++number) queue.Push(FrameOf(number));
  const auto one_more_comes = [&] {
    queue.Push({});
    return std::size_t{0};
  };
  EXPECT_EQ(ledger.Audit(queue, one_more_comes).lost, 0u);
}

// A camera, a learner's thread and a reader, each as fast as it can.
TEST(FrameLedgerTest, EveryReadingAddsUpWhileFramesMove) {
  constexpr std::uint64_t kCapacity = 3;
  constexpr std::int64_t kFrames = 30000;
  ingest::FrameQueue queue(kCapacity, ingest::WhenFull::kDropOldest);
  FrameLedger ledger;
  {
    std::jthread learner([&] {
      while (const auto frame = queue.Pop()) {
        if (frame->number % 7 == 0) {
          ledger.Dropped(DropReason::kGap);
        } else {
          ledger.Predicted();
        }
      }
    });
    std::jthread camera([&] {
      for (std::int64_t number = 0; number < kFrames; ++number) queue.Push(FrameOf(number));
      queue.Close();
    });
    FrameCounts counts;
    while (counts.received < kFrames) {
      counts = ledger.Count(queue);
      ASSERT_TRUE(Balanced(counts));
      ASSERT_LE(counts.in_flight,
                kCapacity + 2);  // One in the camera's hand, one in the learner's.
    }
  }
  EXPECT_EQ(ledger.Count(queue).received, static_cast<std::uint64_t>(kFrames));
  EXPECT_EQ(ledger.Count(queue).in_flight, 0u);
}

}  // namespace
}  // namespace millrace::service
