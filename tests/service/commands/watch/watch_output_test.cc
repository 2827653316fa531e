#include "service/commands/watch/watch_output.h"

#include <cerrno>
#include <sstream>
#include <streambuf>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nlohmann/json.hpp"

namespace millrace::service {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

/// Of a stream that learns from labels: `labelled` frames of the window have one.
v1::SubscribeResponse OfLabels(int labelled) {
  v1::SubscribeResponse response;
  v1::Prediction& prediction = *response.mutable_prediction();
  prediction.set_stream("gate");
  prediction.mutable_outputs();
  prediction.set_labelled(labelled);
  if (labelled > 0) prediction.set_loss(0.25F);
  return response;
}

v1::SubscribeResponse OfFlow() {
  v1::SubscribeResponse response;
  v1::Prediction& prediction = *response.mutable_prediction();
  prediction.set_stream("gate");
  prediction.set_loss(0.25F);
  prediction.set_loss_no_motion(0.5F);
  return response;
}

TEST(WatchOutputTest, ALossThatThereIsNoneOfIsNotSaid) {
  EXPECT_THAT(WatchLine(OfLabels(0)), Not(HasSubstr("loss")));
  const auto json = nlohmann::json::parse(WatchJson(OfLabels(0)));
  EXPECT_TRUE(json.at("loss").is_null()) << json;
  EXPECT_TRUE(json.at("loss_no_motion").is_null()) << json;
}

TEST(WatchOutputTest, SaysTheLossesThatThereAre) {
  EXPECT_THAT(WatchLine(OfLabels(3)), HasSubstr("loss 0.2500"));
  EXPECT_EQ(nlohmann::json::parse(WatchJson(OfLabels(3))).at("loss"), 0.25);
  EXPECT_THAT(WatchLine(OfFlow()), HasSubstr("loss 0.2500, explains 50 % of the motion"));
  EXPECT_EQ(nlohmann::json::parse(WatchJson(OfFlow())).at("loss_no_motion"), 0.5);
}

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

TEST(TroublesTest, NameWhatKeepsAStreamFromPredicting) {
  using enum v1::SourceState;
  using enum v1::LearnerState;
  Troubles troubles;
  const auto what = [&](v1::SourceState source, v1::LearnerState learner) {
    return troubles.After(Event(source, learner)).what;
  };
  EXPECT_EQ(what(SOURCE_STATE_STREAMING, LEARNER_STATE_LEARNING), "");
  EXPECT_EQ(what(SOURCE_STATE_STREAMING, LEARNER_STATE_FROZEN), "") << "it predicts";
  EXPECT_EQ(what(SOURCE_STATE_STREAMING, LEARNER_STATE_PAUSED), "learner paused");
  EXPECT_EQ(what(SOURCE_STATE_ENDED, LEARNER_STATE_ENDED), "ended");
  const Hindrance away =
      troubles.After(Event(SOURCE_STATE_BACKING_OFF, LEARNER_STATE_LEARNING, "refused"));
  EXPECT_EQ(away.what, "source backing off");
  EXPECT_EQ(away.why, "refused");
  const Hindrance failed =
      troubles.After(Event(SOURCE_STATE_STREAMING, LEARNER_STATE_FAILED, "memory"));
  EXPECT_EQ(failed.what, "learner failed");
  EXPECT_EQ(failed.why, "memory");
  v1::StreamEvent deleted = Event(SOURCE_STATE_STREAMING, LEARNER_STATE_LEARNING);
  deleted.set_kind(v1::STREAM_EVENT_KIND_DELETED);
  EXPECT_EQ(troubles.After(deleted).what, "deleted");
}

/// "learner failed: NaN", after a change of the source or of the learner.
std::string After(Troubles& troubles, v1::StreamEventKind kind, v1::StreamEvent event) {
  event.set_kind(kind);
  const Hindrance trouble = troubles.After(event);
  return trouble.what + ": " + trouble.why;
}

TEST(TroublesTest, NameOverloadThatIsNotAsPlannedUnlessSomethingWorseIsTheMatter) {
  using enum v1::SourceState;
  using enum v1::LearnerState;
  Troubles troubles;
  v1::StreamEvent event = Event(SOURCE_STATE_STREAMING, LEARNER_STATE_LEARNING);
  event.set_kind(v1::STREAM_EVENT_KIND_OVERLOAD);
  event.set_overload(v1::OVERLOAD_KIND_DROPS);
  event.set_overload_cause("drops 20.0 of 25.0 frames a second");
  event.set_cause(event.overload_cause());
  event.set_overload_remedy("set source.max_fps: 4");
  const Hindrance drops = troubles.After(event);
  EXPECT_EQ(drops.what, "drops 20.0 of 25.0 frames a second");
  EXPECT_EQ(drops.why, "set source.max_fps: 4");
  EXPECT_FALSE(drops.stops);
  event.set_overload(v1::OVERLOAD_KIND_LEARNS_LESS);
  EXPECT_EQ(troubles.After(event).what, "");
  event.set_overload(v1::OVERLOAD_KIND_DROPS);
  event.set_source_state(SOURCE_STATE_STALLED);
  EXPECT_EQ(troubles.After(event).what, "source stalled");
  EXPECT_EQ(troubles.After(event).why, "") << "the overload is no cause of that";
}

TEST(TroublesTest, AFailedLearnersCauseIsNotThatOfTheCamera) {
  using enum v1::SourceState;
  using enum v1::LearnerState;
  using enum v1::StreamEventKind;
  Troubles troubles;
  EXPECT_EQ(After(troubles, STREAM_EVENT_KIND_LEARNER_STATE,
                  Event(SOURCE_STATE_STREAMING, LEARNER_STATE_FAILED, "NaN")),
            "learner failed: NaN");
  EXPECT_EQ(After(troubles, STREAM_EVENT_KIND_SOURCE_STATE,
                  Event(SOURCE_STATE_STALLED, LEARNER_STATE_FAILED, "no frame within 2 s")),
            "learner failed: NaN");
  EXPECT_EQ(After(troubles, STREAM_EVENT_KIND_SOURCE_STATE,
                  Event(SOURCE_STATE_STREAMING, LEARNER_STATE_FAILED)),
            "learner failed: NaN");
  EXPECT_EQ(After(troubles, STREAM_EVENT_KIND_UPDATED,
                  Event(SOURCE_STATE_STALLED, LEARNER_STATE_LEARNING, "no frame within 2 s")),
            "source stalled: no frame within 2 s")
      << "made anew, it learns again";
}

TEST(TroublesTest, ACamerasCauseOutlivesWhatTheLearnerIsTold) {
  using enum v1::SourceState;
  using enum v1::LearnerState;
  using enum v1::StreamEventKind;
  Troubles troubles;
  EXPECT_EQ(After(troubles, STREAM_EVENT_KIND_EXISTS,
                  Event(SOURCE_STATE_BACKING_OFF, LEARNER_STATE_LEARNING, "refused")),
            "source backing off: refused");
  EXPECT_EQ(After(troubles, STREAM_EVENT_KIND_LEARNER_STATE,
                  Event(SOURCE_STATE_BACKING_OFF, LEARNER_STATE_PAUSED)),
            "learner paused: ");
  EXPECT_EQ(After(troubles, STREAM_EVENT_KIND_LEARNER_STATE,
                  Event(SOURCE_STATE_BACKING_OFF, LEARNER_STATE_FROZEN)),
            "source backing off: refused");
}

/// A terminal of `rows` rows, as far as it matters here: it draws what is written to it.
class Terminal {
 public:
  explicit Terminal(std::size_t rows) : rows_(rows) {}

  std::vector<std::string> Draw(const std::string& written) {
    for (std::size_t i = 0; i < written.size(); ++i) {
      if (written[i] == '\r') {
        lines_[at_].clear();
      } else if (written[i] == '\n') {
        NextLine();
      } else if (written[i] == '\x1b') {
        const std::size_t end = written.find_first_not_of("0123456789", i + 2);
        Obey(written[end], written.substr(i + 2));
        i = end;
      } else {
        lines_[at_] += written[i];
      }
    }
    return lines_;
  }

 private:
  void NextLine() {
    if (++at_ == lines_.size()) lines_.emplace_back();
    if (at_ >= top_ + rows_) top_ = at_ - rows_ + 1;
  }

  void Obey(char command, const std::string& count) {
    const std::size_t up = command == 'A' ? std::stoul(count) : 0;
    at_ = at_ < top_ + up ? top_ : at_ - up;
    if (command == 'J') lines_.resize(at_ + 1);
  }

  std::size_t rows_;
  std::vector<std::string> lines_{""};
  std::size_t at_ = 0;
  std::size_t top_ = 0;  // The rows above have scrolled away.
};

class WatchScreenTest : public ::testing::Test {
 protected:
  // What the lines say now.
  std::vector<std::string> Lines() {
    out_.str("");
    EXPECT_TRUE(screen_.Refresh());
    std::vector<std::string> lines;
    std::istringstream drawn(out_.str());
    for (std::string line; std::getline(drawn, line);) {
      const std::size_t begin = line.find('\r') + 1;
      lines.push_back(line.substr(begin, line.find("\x1b[K") - begin));
    }
    return lines;
  }

  WatchScreen::Options Of(std::vector<std::string> streams) {
    return {.terminal = true,
            .streams = std::move(streams),
            .size = [this] { return size_; },
            .clock = &clock_};
  }

  FakeClock clock_{std::chrono::hours(1)};
  ScreenSize size_{.columns = 80, .rows = 24};
  std::ostringstream out_;
  WatchScreen screen_{out_, Of({"gate", "yard"})};
};

TEST_F(WatchScreenTest, RewritesALineAStream) {
  EXPECT_TRUE(screen_.Show("yard", "yard  frame 7"));
  EXPECT_EQ(out_.str(), "\rgate  no prediction yet\x1b[K\n\ryard  frame 7\x1b[K\n");
  out_.str("");
  EXPECT_TRUE(screen_.Show("gate", "gate  frame 8"));
  EXPECT_EQ(out_.str(), "\x1b[2A\rgate  frame 8\x1b[K\n\ryard  frame 7\x1b[K\n");
}

TEST_F(WatchScreenTest, CutsWhatIsLongerThanTheTerminalIsWide) {
  EXPECT_TRUE(screen_.Show("yard", "yard 1"));
  size_.columns = 6;
  EXPECT_TRUE(screen_.Show("gate", "gate 2 and more"));
  EXPECT_THAT(Terminal(24).Draw(out_.str()), ElementsAre("gate 2", "yard 1", ""));
}

TEST_F(WatchScreenTest, DrawsNoMoreLinesThanTheTerminalHasRows) {
  size_.rows = 4;
  WatchScreen screen(out_, Of({"a", "b", "c", "d", "e"}));
  for (int i = 1; i <= 3; ++i) {
    for (const std::string name : {"a", "b", "e"}) {
      ASSERT_TRUE(screen.Show(name, name + std::to_string(i)));
    }
  }
  EXPECT_THAT(Terminal(4).Draw(out_.str()), ElementsAre("a3", "b3", "... and 3 more", ""));
}

TEST_F(WatchScreenTest, FollowsATerminalThatIsMadeSmallerAndLarger) {
  WatchScreen screen(out_, Of({"a", "b", "c"}));
  ASSERT_TRUE(screen.Show("a", "a1"));
  size_.rows = 4;
  ASSERT_TRUE(screen.Show("a", "a2"));
  EXPECT_THAT(Terminal(24).Draw(out_.str()),
              ElementsAre("a2", "b  no prediction yet", "c  no prediction yet", ""));
  size_.rows = 3;
  ASSERT_TRUE(screen.Refresh());
  EXPECT_THAT(out_.str(), EndsWith("... and 2 more\x1b[K\n\x1b[J"));
  size_.rows = 24;
  ASSERT_TRUE(screen.Refresh());
  EXPECT_THAT(out_.str(), EndsWith("c  no prediction yet\x1b[K\n"));
}

TEST_F(WatchScreenTest, WhatIsSaidBetweenStaysAboveTheLines) {
  ASSERT_TRUE(screen_.Show("gate", "gate 1"));
  screen_.Print(out_, "yard has failed\n");
  ASSERT_TRUE(screen_.Show("gate", "gate 2"));
  ASSERT_TRUE(screen_.Show("gate", "gate 3"));
  EXPECT_THAT(Terminal(24).Draw(out_.str()),
              ElementsAre("gate 1", "yard  no prediction yet", "yard has failed", "gate 3",
                          "yard  no prediction yet", ""));
}

TEST_F(WatchScreenTest, SaysHowOldAPredictionIs) {
  EXPECT_TRUE(screen_.Show("gate", "gate  frame 8"));
  clock_.Advance(seconds(2));
  EXPECT_EQ(Lines()[0], "gate  frame 8");
  clock_.Advance(seconds(12));
  EXPECT_EQ(Lines()[0], "gate  last prediction 14 s ago  frame 8");
  EXPECT_TRUE(screen_.Show("gate", "gate  frame 9"));
  EXPECT_EQ(Lines()[0], "gate  frame 9");
}

TEST_F(WatchScreenTest, SaysWhatIsTheMatterAndWhy) {
  EXPECT_TRUE(screen_.Show("gate", "gate  frame 8"));
  clock_.Advance(seconds(120));
  screen_.SetTrouble("gate", {.what = "source backing off", .why = "rtsp://gate: no\nframe"});
  screen_.SetTrouble("yard", {.what = "source connecting"});
  EXPECT_EQ(Lines()[0],
            "gate  source backing off, last prediction 2 min ago: rtsp://gate: no frame");
  EXPECT_EQ(Lines()[1], "yard  source connecting, no prediction yet");
  size_.columns = 40;
  EXPECT_EQ(Lines()[0], "gate  source backing off, last predictio");
  screen_.SetTrouble("gate", {});
  EXPECT_TRUE(screen_.Show("gate", "gate  frame 9"));
  EXPECT_EQ(Lines()[0], "gate  frame 9");
}

TEST_F(WatchScreenTest, SaysWhatIsGivenUpBesideThePredictions) {
  size_.columns = 120;
  EXPECT_TRUE(screen_.Show("gate", "gate  frame 8"));
  screen_.SetTrouble(
      "gate",
      {.what = "drops 20.0 of 25.0 frames a second", .why = "set max_fps: 4", .stops = false});
  EXPECT_EQ(Lines()[0], "gate  drops 20.0 of 25.0 frames a second, frame 8: set max_fps: 4");
  clock_.Advance(seconds(12));
  EXPECT_EQ(Lines()[0],
            "gate  drops 20.0 of 25.0 frames a second, last prediction 12 s ago: set max_fps: 4");
}

TEST_F(WatchScreenTest, ShowsNoHalfCharactersAndObeysNobodyElse) {
  screen_.SetTrouble("gate", {.what = "source failed", .why = "\x1b[2Jt\xC3\xBCr\r\x07!\xC2\x9BJ"});
  EXPECT_EQ(Lines()[0], "gate  source failed, no prediction yet:  [2Jt\xC3\xBCr  !  J");
  size_.columns = Lines()[0].find('\xC3') + 1;
  EXPECT_EQ(Lines()[0], "gate  source failed, no prediction yet:  [2Jt");
}

TEST_F(WatchScreenTest, SaysThatTheServerIsAway) {
  screen_.SetTroubleOfAll({.what = "server away"});
  EXPECT_EQ(Lines()[0], "gate  server away, no prediction yet");
  EXPECT_EQ(Lines()[1], "yard  server away, no prediction yet");
}

TEST_F(WatchScreenTest, WhatHasEndedStaysAsItIs) {
  EXPECT_TRUE(screen_.Show("gate", "gate  frame 8"));
  screen_.End("gate");
  clock_.Advance(seconds(60));
  screen_.SetTrouble("gate", {.what = "ended"});
  EXPECT_EQ(Lines()[0], "gate  frame 8");
}

/// Takes nothing.
class Failing final : public std::streambuf {
 public:
  explicit Failing(int error) : error_(error) {}

 private:
  int overflow(int /*character*/) override {
    errno = error_;
    return traits_type::eof();
  }

  const int error_;
};

TEST_F(WatchScreenTest, SaysThatItCannotBeDrawnAnyMore) {
  Failing gone(EIO);
  std::ostream out(&gone);
  WatchScreen screen(out, Of({"gate"}));
  EXPECT_FALSE(screen.Refresh());
  EXPECT_FALSE(screen.written().ok());
}

TEST(WatchScreenElsewhereTest, PrintsPredictionsAlone) {
  std::ostringstream out;
  WatchScreen screen(out, {.terminal = false, .streams = {"gate"}});
  screen.SetTrouble("gate", {.what = "source connecting"});
  EXPECT_TRUE(screen.Show("gate", "gate  frame 8"));
  EXPECT_TRUE(screen.Refresh());
  EXPECT_EQ(out.str(), "gate  frame 8\n");
}

TEST(WatchScreenElsewhereTest, SaysThatNobodyReadsAnyMore) {
  Failing closed(EPIPE);
  std::ostream out(&closed);
  WatchScreen screen(out, {.terminal = false, .streams = {"gate"}});
  EXPECT_TRUE(screen.written().ok());
  EXPECT_FALSE(screen.Show("gate", "gate 1"));
  EXPECT_FALSE(screen.Show("gate", "gate 2"));
  EXPECT_TRUE(absl::IsCancelled(screen.written())) << screen.written();
}

TEST(WatchScreenElsewhereTest, SaysWhyItCannotBeWritten) {
  Failing full(ENOSPC);
  std::ostream out(&full);
  WatchScreen screen(out, {.terminal = false, .streams = {"gate"}});
  EXPECT_FALSE(screen.Show("gate", "gate 1"));
  EXPECT_THAT(std::string(screen.written().message()), HasSubstr("No space left on device"));
}

}  // namespace
}  // namespace millrace::service
