#include "service/watch_output.h"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::service {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

v1::StreamEvent Event(v1::SourceState source, v1::LearnerState learner,
                      const std::string& cause = "") {
  v1::StreamEvent event;
  event.set_stream("gate");
  event.set_kind(v1::STREAM_EVENT_KIND_EXISTS);
  event.set_source_state(source);
  event.set_learner_state(learner);
  event.set_cause(cause);
  return event;
}

TEST(TroubleOfTest, NamesWhatKeepsAStreamFromPredicting) {
  using enum v1::SourceState;
  using enum v1::LearnerState;
  EXPECT_EQ(TroubleOf(Event(SOURCE_STATE_STREAMING, LEARNER_STATE_LEARNING)).what, "");
  EXPECT_EQ(TroubleOf(Event(SOURCE_STATE_STREAMING, LEARNER_STATE_FROZEN)).what, "")
      << "it predicts";
  EXPECT_EQ(TroubleOf(Event(SOURCE_STATE_STREAMING, LEARNER_STATE_PAUSED)).what, "learner paused");
  EXPECT_EQ(TroubleOf(Event(SOURCE_STATE_ENDED, LEARNER_STATE_ENDED)).what, "ended");
  const Trouble away =
      TroubleOf(Event(SOURCE_STATE_BACKING_OFF, LEARNER_STATE_LEARNING, "refused"));
  EXPECT_EQ(away.what, "source backing off");
  EXPECT_EQ(away.why, "refused");
  const Trouble failed = TroubleOf(Event(SOURCE_STATE_STREAMING, LEARNER_STATE_FAILED, "memory"));
  EXPECT_EQ(failed.what, "learner failed");
  EXPECT_EQ(failed.why, "memory");
  v1::StreamEvent deleted = Event(SOURCE_STATE_STREAMING, LEARNER_STATE_LEARNING);
  deleted.set_kind(v1::STREAM_EVENT_KIND_DELETED);
  EXPECT_EQ(TroubleOf(deleted).what, "deleted");
}

class WatchScreenTest : public ::testing::Test {
 protected:
  // What the lines say now.
  std::vector<std::string> Lines() {
    out_.str("");
    screen_.Refresh();
    std::vector<std::string> lines;
    std::istringstream drawn(out_.str());
    for (std::string line; std::getline(drawn, line);) {
      const std::size_t begin = line.find('\r') + 1;
      lines.push_back(line.substr(begin, line.find("\x1b[K") - begin));
    }
    return lines;
  }

  FakeClock clock_{std::chrono::hours(1)};
  std::size_t columns_ = 80;
  std::ostringstream out_;
  WatchScreen screen_{out_,
                      {.terminal = true,
                       .streams = {"gate", "yard"},
                       .columns = [this] { return columns_; },
                       .clock = &clock_}};
};

TEST_F(WatchScreenTest, RewritesALineAStream) {
  screen_.Show("yard", "yard  frame 7");
  EXPECT_EQ(out_.str(), "\rgate  no prediction yet\x1b[K\n\ryard  frame 7\x1b[K\n");
  out_.str("");
  screen_.Show("gate", "gate  frame 8");
  EXPECT_EQ(out_.str(), "\x1b[2A\rgate  frame 8\x1b[K\n\ryard  frame 7\x1b[K\n");
}

TEST_F(WatchScreenTest, SaysHowOldAPredictionIs) {
  screen_.Show("gate", "gate  frame 8");
  clock_.Advance(seconds(2));
  EXPECT_EQ(Lines()[0], "gate  frame 8");
  clock_.Advance(seconds(12));
  EXPECT_EQ(Lines()[0], "gate  last prediction 14 s ago  frame 8");
  screen_.Show("gate", "gate  frame 9");
  EXPECT_EQ(Lines()[0], "gate  frame 9");
}

TEST_F(WatchScreenTest, SaysWhatIsTheMatterAndWhy) {
  screen_.Show("gate", "gate  frame 8");
  clock_.Advance(seconds(120));
  screen_.SetTrouble("gate", {.what = "source backing off", .why = "rtsp://gate: no\nframe"});
  screen_.SetTrouble("yard", {.what = "source connecting"});
  EXPECT_EQ(Lines()[0],
            "gate  source backing off, last prediction 2 min ago: rtsp://gate: no frame");
  EXPECT_EQ(Lines()[1], "yard  source connecting, no prediction yet");
  columns_ = 40;
  EXPECT_EQ(Lines()[0], "gate  source backing off, last predictio");
  screen_.SetTrouble("gate", {});
  screen_.Show("gate", "gate  frame 9");
  EXPECT_EQ(Lines()[0], "gate  frame 9");
}

TEST_F(WatchScreenTest, SaysThatTheServerIsAway) {
  screen_.SetTroubleOfAll({.what = "server away"});
  EXPECT_EQ(Lines()[0], "gate  server away, no prediction yet");
  EXPECT_EQ(Lines()[1], "yard  server away, no prediction yet");
}

TEST_F(WatchScreenTest, WhatHasEndedStaysAsItIs) {
  screen_.Show("gate", "gate  frame 8");
  screen_.End("gate");
  clock_.Advance(seconds(60));
  screen_.SetTrouble("gate", {.what = "ended"});
  EXPECT_EQ(Lines()[0], "gate  frame 8");
}

TEST(WatchScreenElsewhereTest, PrintsPredictionsAlone) {
  std::ostringstream out;
  WatchScreen screen(out, {.terminal = false, .streams = {"gate"}});
  screen.SetTrouble("gate", {.what = "source connecting"});
  screen.Show("gate", "gate  frame 8");
  screen.Refresh();
  EXPECT_EQ(out.str(), "gate  frame 8\n");
}

}  // namespace
}  // namespace millrace::service
