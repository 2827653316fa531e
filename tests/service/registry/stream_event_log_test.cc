#include "service/registry/stream_event_log.h"

#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::service {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;
using Kind = StreamEvent::Kind;

std::vector<StreamEvent> ReadAll(const StreamEventLog& events, StreamEventLog::Cursor& cursor,
                                 const std::string& stream = "") {
  std::vector<StreamEvent> all;
  while (const auto event = events.Next(cursor, stream).event) all.push_back(*event);
  return all;
}

std::vector<Kind> Kinds(const std::vector<StreamEvent>& events) {
  std::vector<Kind> kinds;
  for (const StreamEvent& event : events) kinds.push_back(event.kind);
  return kinds;
}

class StreamEventLogTest : public ::testing::Test {
 protected:
  StreamEventLogTest() {
    events_.Happened(street_, Kind::kCreated);
    cursor_ = events_.Watch("", now_);
  }

  StreamEventLog events_;
  const StreamEventLog::Incarnation street_ = events_.Begin("street");
  std::deque<StreamEvent> now_;
  StreamEventLog::Cursor cursor_ = 0;
};

TEST_F(StreamEventLogTest, AWatcherLearnsWhatThereIsAndWhatHappensThen) {
  ASSERT_THAT(now_, SizeIs(1));
  EXPECT_EQ(now_[0].stream, "street");
  EXPECT_EQ(now_[0].kind, Kind::kExists);
  events_.SourceIs(street_, ingest::SourceState::kBackingOff, absl::UnavailableError("gone"));
  events_.Happened(street_, Kind::kDeleted);
  const std::vector<StreamEvent> all = ReadAll(events_, cursor_);
  ASSERT_THAT(Kinds(all), ElementsAre(Kind::kSourceState, Kind::kDeleted));
  EXPECT_EQ(all[0].source, ingest::SourceState::kBackingOff);
  EXPECT_EQ(all[0].cause, "gone");
  EXPECT_GT(all[0].time.count(), 0);
}

TEST_F(StreamEventLogTest, TellWhatAStreamGivesUpAndWhatHelps) {
  const Overload overload{.kind = OverloadKind::kDrops,
                          .received_per_second = 25,
                          .dropped_per_second = 20,
                          .remedies = {.max_fps = 4}};
  events_.OverloadIs(street_, overload);
  std::deque<StreamEvent> now;
  std::ignore = events_.Watch("street", now);
  events_.OverloadIs(street_, {});
  const std::vector<StreamEvent> all = ReadAll(events_, cursor_);
  ASSERT_THAT(Kinds(all), ElementsAre(Kind::kOverload, Kind::kOverload));
  EXPECT_EQ(all[0].overload, OverloadKind::kDrops);
  EXPECT_EQ(all[0].cause, "drops 20.0 of 25.0 frames a second");
  EXPECT_EQ(all[0].overload_remedy,
            "every frame is predicted and learned from with source.max_fps: 4");
  EXPECT_EQ(all[1].overload, OverloadKind::kNone);
  EXPECT_EQ(all[1].cause, "");
  // A new watcher gets it, too.
  ASSERT_THAT(now, SizeIs(1));
  EXPECT_EQ(now[0].overload_cause, "drops 20.0 of 25.0 frames a second");
}

TEST_F(StreamEventLogTest, TheSameStateOfALearnerAgainIsNoEvent) {
  events_.LearnerIs(street_, LearnerState::kLearning, absl::OkStatus());
  events_.LearnerIs(street_, LearnerState::kFailed, absl::InternalError("out of memory"));
  events_.LearnerIs(street_, LearnerState::kFailed, absl::InternalError("again"));
  const std::vector<StreamEvent> all = ReadAll(events_, cursor_);
  ASSERT_THAT(Kinds(all), ElementsAre(Kind::kLearnerState));
  EXPECT_EQ(all[0].cause, "out of memory");
}

TEST_F(StreamEventLogTest, OfAStreamThatIsNotThereNothingIsTold) {
  const StreamEventLog::Incarnation yard = events_.Begin("yard");
  events_.SourceIs(yard, ingest::SourceState::kStreaming, absl::OkStatus());
  events_.Forget(yard);
  events_.Happened(street_, Kind::kDeleted);
  events_.SourceIs(street_, ingest::SourceState::kStopped, absl::OkStatus());
  EXPECT_THAT(Kinds(ReadAll(events_, cursor_)), ElementsAre(Kind::kDeleted));
  std::deque<StreamEvent> now;
  (void)events_.Watch("", now);
  EXPECT_THAT(now, SizeIs(0));
}

TEST_F(StreamEventLogTest, WhatASourceDidBeforeItsStreamWasThereShowsWhenItIs) {
  const StreamEventLog::Incarnation yard = events_.Begin("yard");
  events_.SourceIs(yard, ingest::SourceState::kStreaming, absl::OkStatus());
  events_.Happened(yard, Kind::kCreated);
  const std::vector<StreamEvent> all = ReadAll(events_, cursor_);
  ASSERT_THAT(Kinds(all), ElementsAre(Kind::kCreated));
  EXPECT_EQ(all[0].source, ingest::SourceState::kStreaming);
}

TEST_F(StreamEventLogTest, OneStreamCanBeWatchedAlone) {
  const StreamEventLog::Incarnation yard = events_.Begin("yard");
  events_.Happened(yard, Kind::kCreated);
  events_.Happened(street_, Kind::kUpdated);
  EXPECT_THAT(Kinds(ReadAll(events_, cursor_, "street")), ElementsAre(Kind::kUpdated));
}

TEST_F(StreamEventLogTest, WhoWatchesOneStreamIsToldWhetherThereIsOne) {
  std::deque<StreamEvent> now;
  (void)events_.Begin("yard");
  (void)events_.Watch("yard", now);
  EXPECT_THAT(now, SizeIs(0)) << "it is not created yet";
  (void)events_.Watch("street", now);
  EXPECT_THAT(now, SizeIs(1));
}

TEST_F(StreamEventLogTest, OfTwoLivesOnlyTheOneThatTookThePlaceLastIsHeard) {
  const StreamEventLog::Incarnation next = events_.Begin("street");
  events_.SourceIs(next, ingest::SourceState::kStreaming, absl::OkStatus());
  events_.LearnerIs(next, LearnerState::kFrozen, absl::OkStatus());
  events_.Happened(next, Kind::kUpdated);
  events_.SourceIs(street_, ingest::SourceState::kStopped, absl::OkStatus());
  events_.LearnerIs(street_, LearnerState::kEnded, absl::OkStatus());
  const std::vector<StreamEvent> all = ReadAll(events_, cursor_);
  ASSERT_THAT(Kinds(all), ElementsAre(Kind::kUpdated));
  EXPECT_EQ(all[0].source, ingest::SourceState::kStreaming);
  EXPECT_EQ(all[0].learner, LearnerState::kFrozen);
  std::deque<StreamEvent> now;
  (void)events_.Watch("", now);
  EXPECT_THAT(now, SizeIs(1));
}

// An order to a learner may come as its stream is deleted.
TEST_F(StreamEventLogTest, ALifeThatIsOverDoesNotComeBack) {
  events_.Happened(street_, Kind::kDeleted);
  events_.LearnerIs(street_, LearnerState::kFrozen, absl::OkStatus());
  events_.Happened(street_, Kind::kUpdated);
  const StreamEventLog::Incarnation next = events_.Begin("street");
  events_.Happened(next, Kind::kCreated);
  const std::vector<StreamEvent> all = ReadAll(events_, cursor_);
  ASSERT_THAT(Kinds(all), ElementsAre(Kind::kDeleted, Kind::kCreated));
  EXPECT_EQ(all[1].learner, LearnerState::kLearning);
}

TEST_F(StreamEventLogTest, OnceClosedThereIsAnEndBehindTheLastEvent) {
  EXPECT_FALSE(events_.Next(cursor_, "").over);
  events_.Happened(street_, Kind::kUpdated);
  events_.Close();
  events_.Happened(street_, Kind::kDeleted);
  const StreamEventLog::Read last = events_.Next(cursor_, "");
  EXPECT_EQ(last.event->kind, Kind::kUpdated);
  EXPECT_FALSE(last.over);
  EXPECT_TRUE(events_.Next(cursor_, "").over);
}

TEST_F(StreamEventLogTest, AWatcherThatSleptIsToldHowManyItLost) {
  for (int i = 0; i < 300; ++i) events_.Happened(street_, Kind::kUpdated);
  const StreamEventLog::Read first = events_.Next(cursor_, "");
  EXPECT_EQ(first.missed, 300u - 256u);
  EXPECT_EQ(events_.Next(cursor_, "").missed, 0u);
}

TEST_F(StreamEventLogTest, WhoLostTheEndOfTheStreamThatItWatchesIsToldThatItIsGone) {
  const StreamEventLog::Incarnation yard = events_.Begin("yard");
  events_.Happened(yard, Kind::kCreated);
  for (int i = 0; i < 300; ++i) events_.Happened(yard, Kind::kUpdated);
  StreamEventLog::Cursor while_it_is_there = cursor_;
  EXPECT_FALSE(events_.Next(while_it_is_there, "street").gone);
  events_.Happened(street_, Kind::kDeleted);
  for (int i = 0; i < 300; ++i) events_.Happened(yard, Kind::kUpdated);
  StreamEventLog::Cursor of_all = cursor_;
  EXPECT_FALSE(events_.Next(of_all, "").gone);
  const StreamEventLog::Read lost = events_.Next(cursor_, "street");
  EXPECT_FALSE(lost.event);
  EXPECT_TRUE(lost.gone);
}

TEST_F(StreamEventLogTest, WakesWhoListensUntilToldNotTo) {
  int calls = 0;
  events_.Listen([&calls] { ++calls; });
  events_.Happened(street_, Kind::kUpdated);
  events_.LearnerIs(street_, LearnerState::kEnded, absl::OkStatus());
  EXPECT_EQ(calls, 2);
  events_.Close();
  EXPECT_EQ(calls, 3);
  events_.Listen(nullptr);
  events_.Happened(street_, Kind::kUpdated);
  EXPECT_EQ(calls, 3);
}

}  // namespace
}  // namespace millrace::service
