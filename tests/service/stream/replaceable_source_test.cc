#include "service/stream/replaceable_source.h"

#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "tests/service/support/fake_source.h"

namespace millrace::service {
namespace {

class ReplaceableSourceTest : public ::testing::Test {
 protected:
  /// A source that the test pushes to, as long as it is in use.
  std::unique_ptr<FakeSource> Make() {
    return std::make_unique<FakeSource>(ingest::SourceOptions{.uri = "", .queue_capacity = 64},
                                        clock_);
  }

  /// Another source replaces the current one.
  FakeSource* Replace(const std::string& uri = "rtsp://camera/2") {
    std::unique_ptr<FakeSource> next = Make();
    FakeSource* const raw = next.get();
    EXPECT_TRUE(source_.Replace(std::move(next), uri).ok());
    return raw;
  }

  FakeClock clock_;
  std::unique_ptr<FakeSource> made_ = Make();
  FakeSource* const first_ = made_.get();
  ReplaceableSource source_{std::move(made_), "rtsp://camera/1"};
};

TEST_F(ReplaceableSourceTest, FramesAreNumberedOnInANewEpochAndTheFirstHasNoPredecessor) {
  first_->Push();
  first_->Reconnect();
  first_->Push();
  EXPECT_EQ(source_.Pop()->number, 0);
  FakeSource* const second = Replace();
  second->Push();
  second->Push();

  const auto waiting = source_.Pop();
  EXPECT_EQ(waiting->number, 1) << "a frame that waited comes first";
  EXPECT_EQ(waiting->epoch, 1);
  const auto first = source_.Pop();
  EXPECT_EQ(first->number, 2);
  EXPECT_EQ(first->epoch, 2);
  EXPECT_EQ(first->previous, nullptr);
  const auto next = source_.Pop();
  EXPECT_EQ(next->number, 3);
  EXPECT_EQ(next->epoch, 2);
  EXPECT_NE(next->previous, nullptr);
}

TEST_F(ReplaceableSourceTest, CountsAreThoseOfAllSources) {
  first_->Push();
  FakeSource* const second = Replace();
  EXPECT_EQ(source_.received(), 1u);
  second->Push();
  second->Push();
  EXPECT_EQ(source_.received(), 3u);
  EXPECT_EQ(source_.uri(), "rtsp://camera/2");
  EXPECT_EQ(source_.status().epoch, 1);
  source_.Stop();
  second->Push();
  EXPECT_EQ(source_.rejected_after_close(), 1u);
}

TEST_F(ReplaceableSourceTest, ASourceWithoutAFrameBeganNoEpoch) {
  FakeSource* const second = Replace();
  second->Push();
  EXPECT_EQ(source_.Pop()->epoch, 0);
}

TEST_F(ReplaceableSourceTest, NumbersContinueFromTheStartPosition) {
  auto made = Make();
  FakeSource* const first = made.get();
  ReplaceableSource source(std::move(made), "rtsp://camera/1", {.frames = 1000, .epochs = 4});
  EXPECT_EQ(source.next_number(), 1000);
  EXPECT_EQ(source.status().epoch, 4);
  first->Push();
  EXPECT_EQ(source.next_number(), 1001);
  EXPECT_EQ(source.received(), 1u) << "a count of this process";
  auto next = Make();
  FakeSource* const second = next.get();
  ASSERT_TRUE(source.Replace(std::move(next), "rtsp://camera/2").ok());
  second->Push();
  const auto frame = source.Pop();
  EXPECT_EQ(frame->number, 1000);
  EXPECT_EQ(frame->epoch, 4);
  const auto of_second = source.Pop();
  EXPECT_EQ(of_second->number, 1001);
  EXPECT_EQ(of_second->epoch, 5);
}

TEST_F(ReplaceableSourceTest, GapsOfTheSourceBeforeStayCounted) {
  first_->Push();
  first_->Push(ingest::NoPredecessor::kGap);
  FakeSource* const second = Replace();
  second->Push();
  EXPECT_EQ(source_.Pop()->gaps, 0);
  EXPECT_EQ(source_.Pop()->gaps, 1);
  EXPECT_EQ(source_.Pop()->gaps, 1) << "another source is no gap";
}

TEST_F(ReplaceableSourceTest, EndsWithTheCurrentSourceAndTakesNoMoreThen) {
  FakeSource* const second = Replace();
  second->Push();
  second->End();
  EXPECT_TRUE(source_.Pop());
  EXPECT_FALSE(source_.Pop());
  EXPECT_TRUE(absl::IsFailedPrecondition(source_.Replace(Make(), "")));
}

TEST_F(ReplaceableSourceTest, OnceStoppedTakesNoMore) {
  source_.Stop();
  EXPECT_FALSE(source_.Pop());
  EXPECT_TRUE(absl::IsCancelled(source_.Replace(Make(), "")));
}

// A source may take long to stop: the stream is stopped meanwhile.
TEST_F(ReplaceableSourceTest, OneThatComesAsItIsStoppedIsStoppedToo) {
  ReplaceableSource* known = nullptr;
  auto slow = std::make_unique<FakeSource>(
      ingest::SourceOptions{.uri = "",
                            .on_state =
                                [&known](ingest::SourceState state, const absl::Status& /*cause*/) {
                                  if (state == ingest::SourceState::kStopped) known->Stop();
                                }},
      clock_);
  ReplaceableSource source(std::move(slow), "rtsp://camera/1");
  known = &source;
  std::vector<ingest::SourceState> next_was;
  auto next = std::make_unique<FakeSource>(
      ingest::SourceOptions{
          .uri = "",
          .on_state = [&next_was](ingest::SourceState state,
                                  const absl::Status& /*cause*/) { next_was.push_back(state); }},
      clock_);
  EXPECT_TRUE(absl::IsCancelled(source.Replace(std::move(next), "rtsp://camera/2")));
  EXPECT_THAT(next_was,
              testing::ElementsAre(ingest::SourceState::kStreaming, ingest::SourceState::kStopped));
  EXPECT_EQ(source.uri(), "rtsp://camera/1");
  EXPECT_FALSE(source.Pop());
}

// The learner's thread waits in Pop() all the while, and sees every frame once.
TEST_F(ReplaceableSourceTest, SourcesMayChangeWhileSomebodyWaitsForFrames) {
  constexpr int kSources = 50;
  std::vector<std::int64_t> numbers;
  std::jthread learner([&] {
    while (const auto frame = source_.Pop()) numbers.push_back(frame->number);
  });
  FakeSource* source = first_;
  for (int i = 0; i < kSources; ++i) {
    source->Push();
    source = Replace();
  }
  source_.Stop();
  learner.join();
  ASSERT_EQ(numbers.size(), static_cast<std::size_t>(kSources));
  for (int i = 0; i < kSources; ++i) EXPECT_EQ(numbers[i], i);
}

}  // namespace
}  // namespace millrace::service
