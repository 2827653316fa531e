// The lines about a stream that a pipe gets beside its predictions.
#include "service/commands/watch/watch_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::service {
namespace {

using ::testing::Eq;
using ::testing::Optional;

v1::StreamStatus Status(v1::SourceState state) {
  v1::StreamStatus status;
  status.set_stream("yard");
  status.set_source_state(state);
  status.set_learner_state(v1::LEARNER_STATE_LEARNING);
  status.mutable_prediction_age()->set_nanos(40'000'000);
  status.set_overload(v1::OVERLOAD_KIND_NONE);
  return status;
}

v1::StreamStatus Overloaded(v1::OverloadKind kind) {
  v1::StreamStatus status = Status(v1::SOURCE_STATE_STREAMING);
  status.set_overload(kind);
  status.set_overload_cause("drops 20.0 of 25.0 frames a second");
  status.set_overload_remedy("every frame is predicted with source.max_fps: 4");
  return status;
}

const v1::StreamStatus kWell = Status(v1::SOURCE_STATE_STREAMING);

TEST(StatusLinesTest, SayNothingOfAStreamThatDoesWell) {
  EXPECT_EQ(StatusLines().Next(kWell), std::nullopt);
}

TEST(StatusLinesTest, SayWhyNoPredictionComesAndForHowLong) {
  StatusLines lines;
  v1::StreamStatus away = Status(v1::SOURCE_STATE_BACKING_OFF);
  away.set_source_cause("no frame within 2 s");
  away.mutable_prediction_age()->set_seconds(14);
  EXPECT_THAT(lines.Next(away), Optional(Eq("yard  source backing off, last prediction 14 s ago: "
                                            "no frame within 2 s")));
  away.clear_prediction_age();
  EXPECT_THAT(lines.Next(away), Optional(Eq("yard  source backing off, no prediction yet: "
                                            "no frame within 2 s")));
  EXPECT_EQ(lines.Next(kWell), std::nullopt) << "the predictions that come say so";
}

TEST(StatusLinesTest, SayThatNothingComesWhereNothingIsTheMatter) {
  v1::StreamStatus silent = kWell;
  silent.mutable_prediction_age()->set_seconds(10);
  EXPECT_THAT(StatusLines().Next(silent),
              Optional(Eq("yard  source streaming, last prediction 10 s ago")));
}

TEST(StatusLinesTest, SayWhatIsGivenUpUnderOverloadAndThatItIsOver) {
  StatusLines lines;
  EXPECT_THAT(lines.Next(Overloaded(v1::OVERLOAD_KIND_DROPS)),
              Optional(Eq("yard  drops 20.0 of 25.0 frames a second: every frame is predicted with "
                          "source.max_fps: 4")));
  EXPECT_THAT(lines.Next(kWell), Optional(Eq("yard  the overload is over")));
  EXPECT_EQ(lines.Next(kWell), std::nullopt);
}

TEST(StatusLinesTest, SayAnOverloadOnceWhateverElseChanges) {
  StatusLines lines;
  const v1::StreamStatus drops = Overloaded(v1::OVERLOAD_KIND_DROPS);
  EXPECT_NE(lines.Next(drops), std::nullopt);
  EXPECT_EQ(lines.Next(drops), std::nullopt) << "a new subscription";
  EXPECT_NE(lines.Next(Status(v1::SOURCE_STATE_BACKING_OFF)), std::nullopt);
  EXPECT_EQ(lines.Next(drops), std::nullopt) << "as before the camera was away";
  EXPECT_THAT(lines.Next(kWell), Optional(Eq("yard  the overload is over")));
  EXPECT_NE(lines.Next(drops), std::nullopt) << "another one";
}

TEST(StatusLinesTest, AnOverloadThatGivesUpLessIsNotOver) {
  StatusLines lines;
  EXPECT_NE(lines.Next(Overloaded(v1::OVERLOAD_KIND_DROPS)), std::nullopt);
  v1::StreamStatus less = Overloaded(v1::OVERLOAD_KIND_LEARNS_LESS);
  less.set_overload_cause("learns from one frame in 2");
  less.set_overload_remedy("every frame is learned from with source.max_fps: 9");
  EXPECT_THAT(lines.Next(less), Optional(Eq("yard  learns from one frame in 2: every frame is "
                                            "learned from with source.max_fps: 9")));
  EXPECT_THAT(lines.Next(kWell), Optional(Eq("yard  the overload is over")));
}

TEST(StatusLinesTest, LearningFromFewerFramesIsAsPlanned) {
  StatusLines lines;
  EXPECT_EQ(lines.Next(Overloaded(v1::OVERLOAD_KIND_LEARNS_LESS)), std::nullopt);
  EXPECT_EQ(lines.Next(kWell), std::nullopt);
}

TEST(StatusLinesTest, SayOnceThatLearningIsGivenUpAndThatItGoesOn) {
  StatusLines lines;
  v1::StreamStatus gave_up = kWell;
  gave_up.set_learner_state(v1::LEARNER_STATE_GIVEN_UP);
  gave_up.set_learner_cause("learning is given up: set a lower model.learning_rate");
  EXPECT_THAT(lines.Next(gave_up),
              Optional(Eq("yard  learning is given up: set a lower model.learning_rate")));
  EXPECT_EQ(lines.Next(gave_up), std::nullopt) << "a new subscription";
  v1::StreamStatus frozen = kWell;
  frozen.set_learner_state(v1::LEARNER_STATE_FROZEN);
  EXPECT_EQ(lines.Next(frozen), std::nullopt);
  EXPECT_THAT(lines.Next(kWell), Optional(Eq("yard  learns again")));
  EXPECT_EQ(lines.Next(kWell), std::nullopt);
}

TEST(StatusLinesTest, SayNothingAtTheEnd) {
  EXPECT_EQ(StatusLines().Next(Status(v1::SOURCE_STATE_STOPPED)), std::nullopt);
  EXPECT_EQ(StatusLines().Next(Status(v1::SOURCE_STATE_ENDED)), std::nullopt);
}

}  // namespace
}  // namespace millrace::service
