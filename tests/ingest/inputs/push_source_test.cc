#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "ingest/inputs/open_source.h"
#include "tests/ingest/support/logged.h"
#include "tests/ingest/support/media.h"

namespace millrace::ingest {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

PushedPicture Of(int width = 4, int height = 2) {
  static const std::vector<std::uint8_t> kMany(3000);
  return {.content = RawPicture{.width = width,
                                .height = height,
                                .bytes = std::span(kMany).first(std::size_t{3} * width * height)}};
}

class LossRecorder final : public FrameLossObserver {
 public:
  void Lost(QueueLoss loss) override { losses.push_back(loss); }
  std::vector<QueueLoss> losses;
};

class PushSourceTest : public testing::Test {
 protected:
  void Open(SourceOptions options = {.uri = "push:"}) {
    options.width = 4;
    options.height = 2;
    options.on_state = [this](SourceState state, const absl::Status&) { states_.push_back(state); };
    auto source = OpenSource(options);
    ASSERT_TRUE(source.ok()) << source.status();
    source_ = *std::move(source);
  }
  std::unique_ptr<Pusher> Enter() {
    auto pusher = source_->push_entry()->Enter([this] { ++ends_; });
    EXPECT_TRUE(pusher.ok()) << pusher.status();
    return *std::move(pusher);
  }

  std::vector<SourceState> states_;
  std::unique_ptr<Source> source_;
  int ends_ = 0;
};

TEST_F(PushSourceTest, NumbersWhatIsPushedAndKeepsPairs) {
  Open();
  const auto pusher = Enter();
  ASSERT_TRUE(pusher->Push(Of()).ok());
  ASSERT_TRUE(pusher->Push(Of()).ok());
  const Frame first = source_->queue().Pop().value();
  const Frame second = source_->queue().Pop().value();
  EXPECT_EQ(first.number, 0);
  EXPECT_EQ(first.predecessor, NoPredecessor::kFirst);
  EXPECT_EQ(second.number, 1);
  EXPECT_EQ(second.previous, first.picture);
}

TEST_F(PushSourceTest, ItsStateSaysWhetherSomebodyPushes) {
  Open();
  EXPECT_THAT(std::string(source_->status().cause.message()), HasSubstr("no client pushes frames"));
  {
    const auto pusher = Enter();
    EXPECT_EQ(source_->status().state, SourceState::kWaiting);
    ASSERT_TRUE(pusher->Push(Of()).ok());
    EXPECT_EQ(source_->status().state, SourceState::kStreaming);
    EXPECT_TRUE(source_->status().cause.ok());
    EXPECT_EQ(source_->status().camera_width, 4);
  }
  EXPECT_EQ(source_->status().state, SourceState::kWaiting);
  source_->Stop();
  EXPECT_THAT(states_, ElementsAre(SourceState::kWaiting, SourceState::kStreaming,
                                   SourceState::kWaiting, SourceState::kStopped));
  EXPECT_EQ(ends_, 0);
}

TEST_F(PushSourceTest, TheLogSaysThatAClientCameAndWent) {
  const Logged logged;
  Open();
  EXPECT_EQ(logged.text(), "") << "as long as none has come";
  ASSERT_TRUE(Enter()->Push(Of()).ok());
  EXPECT_THAT(logged.text(), AllOf(StartsWith("info push: streaming\n"),
                                   EndsWith("no client pushes frames now\n")));
}

TEST_F(PushSourceTest, HasOnePusherAtATimeEachWithAnEpochOfItsOwn) {
  Open();
  {
    const auto pusher = Enter();
    const absl::Status second = source_->push_entry()->Enter([] {}).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(second));
    EXPECT_THAT(std::string(second.message()), HasSubstr("one at a time"));
    ASSERT_TRUE(pusher->Push(Of()).ok());
  }
  ASSERT_TRUE(Enter()->Push(Of()).ok());
  EXPECT_EQ(source_->queue().Pop()->epoch, 0);
  const Frame next = source_->queue().Pop().value();
  EXPECT_EQ(next.epoch, 1);
  EXPECT_EQ(next.number, 1);
  EXPECT_EQ(next.previous, nullptr);
}

TEST_F(PushSourceTest, TimesBeginWithEachPusherAndTellGaps) {
  Open({.uri = "push:", .queue_capacity = 16});
  const auto push_at = [](Pusher& pusher, int second) {
    PushedPicture picture = Of();
    picture.taken = seconds(second);
    EXPECT_TRUE(pusher.Push(picture).ok());
  };
  const auto pusher = Enter();
  for (const int second : {1000, 1001, 1002, 1003, 1009}) push_at(*pusher, second);
  for (int i = 0; i < 4; ++i) {
    const Frame frame = source_->queue().Pop().value();
    EXPECT_EQ(frame.stream_time, seconds(i));
    EXPECT_EQ(frame.camera_time, seconds(1000 + i));
  }
  EXPECT_EQ(source_->queue().Pop()->predecessor, NoPredecessor::kGap);
  EXPECT_TRUE(absl::IsInvalidArgument(pusher->Push(Of()).status()));
}

// By their arrival this would look like a gap: the clock stands still, then jumps.
TEST_F(PushSourceTest, WithoutTimesNothingIsMissing) {
  FakeClock clock{seconds(1)};
  IngestSettings settings;
  settings.clock = &clock;
  auto source =
      OpenSource({.uri = "push:", .width = 4, .height = 2, .queue_capacity = 16}, settings);
  ASSERT_TRUE(source.ok());
  auto pusher = (*source)->push_entry()->Enter([] {});
  for (const int pause : {1, 1, 1, 1, 60, 0}) {
    clock.Advance(seconds(pause));
    ASSERT_TRUE((*pusher)->Push(Of()).ok());
  }
  (*source)->Stop();
  int gaps = 0;
  while (const auto frame = (*source)->queue().Pop()) {
    gaps += frame->predecessor == NoPredecessor::kGap ? 1 : 0;
  }
  EXPECT_EQ(gaps, 0);
}

TEST_F(PushSourceTest, AnotherSizeBeginsAnEpoch) {
  Open({.uri = "push:", .queue_capacity = 4});
  const auto pusher = Enter();
  ASSERT_TRUE(pusher->Push(Of(8, 6)).ok());
  ASSERT_TRUE(pusher->Push(Of(16, 12)).ok());
  EXPECT_EQ(source_->queue().Pop()->picture->width, 4);
  EXPECT_EQ(source_->queue().Pop()->epoch, 1);
  EXPECT_EQ(source_->status().size_changes, 1);
}

TEST_F(PushSourceTest, ABadPictureIsNoFrame) {
  Open();
  const auto pusher = Enter();
  EXPECT_TRUE(absl::IsInvalidArgument(
      pusher->Push({.content = RawPicture{.width = 4, .height = 2, .bytes = {}}}).status()));
  EXPECT_EQ(source_->queue().received(), 0u);
}

TEST_F(PushSourceTest, AsACameraTheOldestIsDroppedAndItsTicketTold) {
  Open({.uri = "push:", .as_camera = true, .queue_capacity = 1});
  const auto pusher = Enter();
  const auto recorder = std::make_shared<LossRecorder>();
  PushedPicture picture = Of();
  picture.loss_observer = recorder;
  ASSERT_TRUE(pusher->Push(picture).ok());
  ASSERT_TRUE(pusher->Push(Of()).ok());
  EXPECT_THAT(recorder->losses, ElementsAre(QueueLoss::kFull));
}

TEST_F(PushSourceTest, StoppingFreesAPusherThatWaitsForRoom) {
  Open({.uri = "push:", .queue_capacity = 1});
  auto pusher = Enter();
  const auto recorder = std::make_shared<LossRecorder>();
  ASSERT_TRUE(pusher->Push(Of()).ok());
  std::jthread waiting([&] {
    PushedPicture picture = Of();
    picture.loss_observer = recorder;
    EXPECT_TRUE(pusher->Push(picture).ok());
  });
  WaitUntil([&] { return source_->queue().received() == 2; });
  source_->Stop();
  waiting.join();
  EXPECT_THAT(recorder->losses, ElementsAre(QueueLoss::kClosed));
  EXPECT_EQ(ends_, 1);
  EXPECT_TRUE(absl::IsUnavailable(source_->push_entry()->Enter([] {}).status()));
  source_ = nullptr;
  EXPECT_TRUE(pusher->Push(Of()).ok());  // It outlives the source.
}

TEST_F(PushSourceTest, HasNothingBehindItsScheme) {
  const absl::Status status = OpenSource({.uri = "push:door"}).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("push:door: write push: and nothing"));
}

}  // namespace
}  // namespace millrace::ingest
