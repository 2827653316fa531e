#include "service/frames/prediction_ring.h"

#include <atomic>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::service {
namespace {

constexpr ReadPolicy kEvery{.newest = false, .depth = 1000};
constexpr ReadPolicy kNewest{.newest = true};

std::shared_ptr<const Prediction> OfFrame(std::int64_t number) {
  auto prediction = std::make_shared<Prediction>();
  prediction->frame_number = number;
  return prediction;
}

void PublishFrames(PredictionRing& ring, std::int64_t from, std::int64_t to) {
  for (std::int64_t number = from; number < to; ++number) ring.Publish(OfFrame(number));
}

TEST(PredictionRingTest, ReaderStartsAtTheFirstPredictionPublishedAfterIt) {
  PredictionRing ring(/*capacity=*/4);
  PublishFrames(ring, 0, 2);
  PredictionRing::Cursor cursor = ring.Begin();
  EXPECT_EQ(ring.Read(cursor, kEvery).prediction, nullptr);

  PublishFrames(ring, 2, 3);
  const PredictionRing::ReadResult read = ring.Read(cursor, kEvery);
  ASSERT_NE(read.prediction, nullptr);
  EXPECT_EQ(read.prediction->frame_number, 2);
  EXPECT_EQ(read.missed, 0u);
  EXPECT_EQ(ring.Read(cursor, kEvery).prediction, nullptr);
}

TEST(PredictionRingTest, EveryReadsAllThatTheRingHoldsInOrder) {
  PredictionRing ring(/*capacity=*/3);
  PredictionRing::Cursor cursor = ring.Begin();
  PublishFrames(ring, 0, 3);

  for (std::int64_t number = 0; number < 3; ++number) {
    const PredictionRing::ReadResult read = ring.Read(cursor, kEvery);
    ASSERT_NE(read.prediction, nullptr);
    EXPECT_EQ(read.prediction->frame_number, number);
    EXPECT_EQ(read.missed, 0u);
  }
}

TEST(PredictionRingTest, SlowReaderOfEveryIsToldWhatItLost) {
  PredictionRing ring(/*capacity=*/3);
  PredictionRing::Cursor cursor = ring.Begin();
  PublishFrames(ring, 0, 8);

  const PredictionRing::ReadResult read = ring.Read(cursor, kEvery);
  EXPECT_EQ(read.prediction->frame_number, 5);
  EXPECT_EQ(read.missed, 5u);
  EXPECT_EQ(ring.Read(cursor, kEvery).missed, 0u);
}

TEST(PredictionRingTest, NewestSkipsAndCountsWhatLiesBetween) {
  PredictionRing ring(/*capacity=*/3);
  PredictionRing::Cursor cursor = ring.Begin();
  PublishFrames(ring, 0, 2);

  PredictionRing::ReadResult read = ring.Read(cursor, kNewest);
  EXPECT_EQ(read.prediction->frame_number, 1);
  EXPECT_EQ(read.missed, 1u);

  PublishFrames(ring, 2, 12);
  read = ring.Read(cursor, kNewest);
  EXPECT_EQ(read.prediction->frame_number, 11);
  EXPECT_EQ(read.missed, 9u);
}

TEST(PredictionRingTest, NewestIsNullBeforeTheFirstPrediction) {
  PredictionRing ring(/*capacity=*/1);
  EXPECT_EQ(ring.Newest(), nullptr);
  PublishFrames(ring, 0, 5);
  EXPECT_EQ(ring.Newest()->frame_number, 4);
}

TEST(PredictionRingTest, ClosedRingCanStillBeRead) {
  PredictionRing ring(/*capacity=*/2);
  PredictionRing::Cursor cursor = ring.Begin();
  PublishFrames(ring, 0, 1);
  ring.Close();
  ring.Close();

  EXPECT_TRUE(ring.closed());
  EXPECT_NE(ring.Read(cursor, kEvery).prediction, nullptr);
  EXPECT_EQ(ring.Read(cursor, kEvery).prediction, nullptr);
}

TEST(PredictionRingTest, CallsListenersAtEachPublishAndOnceAtClose) {
  PredictionRing ring(/*capacity=*/2);
  int first = 0;
  int second = 0;
  auto listening = ring.Listen([&first] { ++first; });
  auto briefly = ring.Listen([&second] { ++second; });
  PublishFrames(ring, 0, 1);
  briefly.reset();
  PublishFrames(ring, 1, 3);
  ring.Close();
  ring.Close();

  EXPECT_EQ(first, 4);
  EXPECT_EQ(second, 1);
}

TEST(PredictionRingTest, ListenerMayUseTheRing) {
  PredictionRing ring(/*capacity=*/2);
  PredictionRing::Cursor cursor = ring.Begin();
  std::int64_t seen = -1;
  std::unique_ptr<PredictionRing::ListenerHandle> inner;
  auto listening = ring.Listen([&] {
    seen = ring.Read(cursor, kEvery).prediction->frame_number;
    inner = ring.Listen([] {});
  });
  PublishFrames(ring, 7, 8);
  EXPECT_EQ(seen, 7);
}

TEST(PredictionRingTest, EndingToListenWaitsForACallInProgress) {
  PredictionRing ring(/*capacity=*/2);
  std::atomic<bool> in_call = false;
  std::atomic<bool> let_go = false;
  std::atomic<bool> returned = false;
  auto listening = ring.Listen([&] {
    in_call = true;
    in_call.notify_all();
    let_go.wait(false);
    returned = true;
  });
  std::jthread publisher([&] { PublishFrames(ring, 0, 1); });
  in_call.wait(false);
  std::jthread releaser([&] {
    let_go = true;
    let_go.notify_all();
  });
  listening.reset();
  EXPECT_TRUE(returned);
}

// Readers of both policies, with a publisher that does not wait. The received predictions of a
// reader and its count of lost ones are together all published ones.
TEST(PredictionRingTest, ReadersAccountForEverythingPublished) {
  constexpr std::int64_t kPredictions = 20000;
  PredictionRing ring(/*capacity=*/8);
  const auto read_all = [&](ReadPolicy policy, PredictionRing::Cursor cursor) {
    std::int64_t accounted = 0;
    for (;;) {
      const bool closed = ring.closed();
      const PredictionRing::ReadResult read = ring.Read(cursor, policy);
      if (read.prediction == nullptr && closed) break;
      if (read.prediction == nullptr) {
        std::this_thread::yield();
        continue;
      }
      accounted += static_cast<std::int64_t>(read.missed);
      EXPECT_EQ(read.prediction->frame_number, accounted);
      ++accounted;
    }
    EXPECT_EQ(accounted, kPredictions);
  };
  const PredictionRing::Cursor begin = ring.Begin();
  std::vector<std::jthread> readers;
  for (const ReadPolicy policy : {kEvery, kNewest, kEvery}) {
    readers.emplace_back(read_all, policy, begin);
  }
  PublishFrames(ring, 0, kPredictions);
  ring.Close();
}

TEST(PredictionRingTest, ListenersComeAndGoWhilePredictionsArePublished) {
  PredictionRing ring(/*capacity=*/4);
  std::atomic<bool> done = false;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!done) {
        int calls = 0;
        auto listening = ring.Listen([&calls] { ++calls; });
        listening.reset();  // After this no thread uses `calls`.
      }
    });
  }
  PublishFrames(ring, 0, 5000);
  ring.Close();
  done = true;
}

}  // namespace
}  // namespace millrace::service
