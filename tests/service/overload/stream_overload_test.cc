// A camera stream whose camera sends more than its learner has time for.
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "service/overload/overload_watch.h"
#include "service/stream/camera_stream.h"
#include "tests/service/support/fake_stream.h"

namespace millrace::service {
namespace {

using std::chrono::milliseconds;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class StreamOverloadTest : public ::testing::Test {
 protected:
  StreamOverloadTest() : usual_(spdlog::default_logger()) {
    auto logger = std::make_shared<spdlog::logger>(
        "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(log_));
    logger->set_pattern("%l %v");
    spdlog::set_default_logger(std::move(logger));
    fake_ =
        StartFakeStream({.learner = {.capacity = 1}, .on_overload = [this](const Overload& now) {
                           told_.push_back(now.kind);
                         }});
    fake_.source->Push();  // The first has no predecessor.
  }
  ~StreamOverloadTest() override {
    fake_.learner->Fail(absl::CancelledError("the test is over"));  // It need not predict the rest.
    fake_.stream.reset();
    spdlog::set_default_logger(usual_);
  }

  /// The camera sends `frames` in each fifth of a second, and one of them is predicted.
  void Film(int seconds, int frames) {
    for (int i = 0; i < 5 * seconds; ++i) {
      for (int frame = 0; frame < frames; ++frame) fake_.source->Push();
      fake_.clock->Advance(milliseconds(200));
      fake_.learner->Predict();
      snapshot_ = fake_.stream->Snapshot();
    }
  }

  std::vector<std::string> LinesOfOverload() {
    std::vector<std::string> lines = absl::StrSplit(log_.str(), '\n', absl::SkipEmpty());
    std::erase_if(lines,
                  [](const std::string& line) { return !absl::StrContains(line, "overload"); });
    return lines;
  }

  std::ostringstream log_;
  const std::shared_ptr<spdlog::logger> usual_;
  FakeStream fake_;
  std::vector<OverloadKind> told_;
  StreamSnapshot snapshot_;
};

TEST_F(StreamOverloadTest, IsSaidOnceWithWhatHelpsAndOnceThatItIsOver) {
  Film(8, 5);
  EXPECT_THAT(LinesOfOverload(), IsEmpty());
  Film(60, 5);
  EXPECT_EQ(snapshot_.overload.kind, OverloadKind::kDrops);
  EXPECT_NEAR(snapshot_.overload.received_per_second, 25, 0.5);
  EXPECT_NEAR(snapshot_.overload.dropped_per_second, 20, 0.5);
  EXPECT_DOUBLE_EQ(snapshot_.overload.remedies.max_fps, 4) << "of the five that are predicted";
  ASSERT_THAT(LinesOfOverload(), SizeIs(1));
  EXPECT_THAT(
      LinesOfOverload()[0],
      ContainsRegex("warning stream 'street': overload: it drops (19.9|20.0|20.1) of 25.0 frames a "
                    "second; every frame is predicted and learned from with source.max_fps: "
                    "4; promised 10.0 predictions a second after 45 ms, measured 5.0 after "));
  EXPECT_FALSE(snapshot_.promise.rate_kept);
  EXPECT_FALSE(snapshot_.promise.delay_kept);

  Film(60, 1);
  EXPECT_EQ(snapshot_.overload.kind, OverloadKind::kNone);
  EXPECT_TRUE(snapshot_.promise.rate_kept) << "five come, and five are predicted";
  ASSERT_THAT(LinesOfOverload(), SizeIs(2));
  EXPECT_EQ(LinesOfOverload()[1], "info stream 'street': the overload is over");
  EXPECT_THAT(told_, ElementsAre(OverloadKind::kDrops, OverloadKind::kNone));
}

// The schedule auto gives up learning first, and takes it up again where there is room.
TEST_F(StreamOverloadTest, LearningThatIsGivenUpIsSaidUntilAllIsLearnedFromAgain) {
  fake_.learner->Fail(absl::CancelledError("another takes its place"));
  fake_.stream.reset();
  fake_ = StartFakeStream(
      {.schedule = "auto", .learner = {.capacity = 1}, .on_overload = [this](const Overload& now) {
         told_.push_back(now.kind);
       }});
  fake_.source->Push();
  Film(60, 5);
  EXPECT_EQ(snapshot_.overload.kind, OverloadKind::kDrops);
  EXPECT_EQ(snapshot_.update_every, 0) << "all of it was given up, and it was not enough";
  Film(60, 1);
  EXPECT_GE(snapshot_.overload.kind, OverloadKind::kLearnsLess);
  EXPECT_LT(snapshot_.overload.kind, OverloadKind::kDrops);
  Film(300, 1);
  EXPECT_EQ(snapshot_.update_every, 1);
  EXPECT_EQ(snapshot_.overload.kind, OverloadKind::kNone);
  ASSERT_THAT(told_, SizeIs(::testing::Ge(3U)));
  EXPECT_EQ(told_.back(), OverloadKind::kNone);
}

TEST_F(StreamOverloadTest, APausedLearnerIsNotOverloaded) {
  ASSERT_TRUE(fake_.stream->SetMode(LearnerState::kPaused).ok());
  for (int i = 0; i < 200; ++i) {
    for (int frame = 0; frame < 5; ++frame) fake_.source->Push();
    fake_.clock->Advance(milliseconds(200));
    snapshot_ = fake_.stream->Snapshot();
  }
  EXPECT_EQ(snapshot_.overload.kind, OverloadKind::kNone);
  EXPECT_THAT(LinesOfOverload(), IsEmpty());
}

TEST(StreamPromiseTest, IsAtMostWhatComes) {
  pipeline::LearnerDescription learner;
  learner.samples_per_second = 37;
  learner.delay_ms = 9;
  EXPECT_DOUBLE_EQ(PromiseOf(learner, 0, 0).frames_per_second, 37)
      << "nothing is known of the camera";
  EXPECT_DOUBLE_EQ(PromiseOf(learner, 25, 0).frames_per_second, 25);
  EXPECT_DOUBLE_EQ(PromiseOf(learner, 25, 10).frames_per_second, 10);
  EXPECT_DOUBLE_EQ(PromiseOf(learner, 100, 0).frames_per_second, 37);
  EXPECT_DOUBLE_EQ(PromiseOf(learner, 100, 0).delay_s, 0.009);
}

}  // namespace
}  // namespace millrace::service
