#include "service/wire/wire_status.h"

#include <gtest/gtest.h>

namespace millrace::service {
namespace {

/// A stream with every problem that does not stop its predictions.
v1::StreamStatus Predicting() {
  v1::StreamStatus status;
  status.set_source_state(v1::SOURCE_STATE_STREAMING);
  status.set_learner_state(v1::LEARNER_STATE_GIVEN_UP);
  status.set_learner_cause("learning is given up: no core is free");
  status.set_overload(v1::OVERLOAD_KIND_DROPS);
  status.set_overload_cause("drops 9 of 10 frames");
  status.set_overload_remedy("take smaller pictures");
  return status;
}

TEST(WireStatusTest, WhatStopsThePredictionsIsSaidFirst) {
  v1::StreamStatus status = Predicting();
  status.set_source_state(v1::SOURCE_STATE_BACKING_OFF);
  status.set_source_cause("no route to host");
  Hindrance hindrance = HindranceOf(status);
  EXPECT_EQ(hindrance.what, "source backing off");
  EXPECT_EQ(hindrance.why, "no route to host");
  EXPECT_TRUE(hindrance.stops);
  status.set_learner_state(v1::LEARNER_STATE_PAUSED);
  EXPECT_EQ(HindranceOf(status).what, "learner paused") << "before its source";
  status.set_learner_state(v1::LEARNER_STATE_FAILED);
  hindrance = HindranceOf(status);
  EXPECT_EQ(hindrance.what, "learner failed");
  EXPECT_EQ(hindrance.why, status.learner_cause());
}

TEST(WireStatusTest, ALearnerThatGaveUpComesBeforeAnOverload) {
  v1::StreamStatus status = Predicting();
  Hindrance hindrance = HindranceOf(status);
  EXPECT_EQ(hindrance.what, "learning is given up");
  EXPECT_EQ(hindrance.why, "no core is free") << "without the same words again";
  EXPECT_FALSE(hindrance.stops);
  status.set_learner_state(v1::LEARNER_STATE_LEARNING);
  hindrance = HindranceOf(status);
  EXPECT_EQ(hindrance.what, "drops 9 of 10 frames");
  EXPECT_EQ(hindrance.why, "take smaller pictures");
  EXPECT_FALSE(hindrance.stops);
}

TEST(WireStatusTest, LearningFromFewerFramesIsNoProblem) {
  v1::StreamStatus status = Predicting();
  status.set_learner_state(v1::LEARNER_STATE_LEARNING);
  status.set_overload(v1::OVERLOAD_KIND_LEARNS_LESS);
  EXPECT_EQ(HindranceOf(status).what, "");
  status.set_overload(v1::OVERLOAD_KIND_ONLY_PREDICTS);
  EXPECT_NE(HindranceOf(status).what, "");
}

TEST(WireStatusTest, AnUnknownStateIsItsNumber) {
  EXPECT_EQ(WordsOf(v1::SOURCE_STATE_BACKING_OFF), "backing off");
  EXPECT_EQ(WordsOf(v1::LEARNER_STATE_PAUSED), "paused");
  EXPECT_EQ(WordsOf(static_cast<v1::SourceState>(99)), "99");
  EXPECT_EQ(WordsOf(static_cast<v1::LearnerState>(99)), "99");
}

}  // namespace
}  // namespace millrace::service
