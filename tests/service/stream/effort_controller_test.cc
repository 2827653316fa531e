#include "service/stream/effort_controller.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "service/stream/rate_keeper.h"
#include "tests/ingest/support/logged.h"
#include "tests/service/support/fake_learner.h"

namespace millrace::service {
namespace {

// Two stages: 20 ms forward, 80 ms to learn.
pipeline::LearnerDescription Learner() {
  pipeline::LearnerDescription learner;
  learner.stages = {{.layers = {"a"}, .device = "cpu:0", .forward_ms = 20, .backward_ms = 80},
                    {.layers = {"b"}, .device = "cpu:1", .forward_ms = 20, .backward_ms = 80}};
  return learner;
}

// A camera, and a pipeline that drops all frames that it has no time for.
class Camera {
 public:
  void Film(int frames, double interval_s) {
    for (int i = 0; i < frames; ++i) {
      arrival_s_ += interval_s;
      const int every = controller_.update_every();
      const double period_s = 0.020 + (every > 0 ? 0.080 / every : 0);
      lag_ = std::max(0.0, lag_ + period_s / interval_s - 1);
      if (lag_ > 2) {
        lag_ -= 1;
        ++dropped_;
      }
      controller_.OnFrame(number_++, arrival_s_, dropped_);
    }
  }

  [[nodiscard]] const EffortController& controller() const { return controller_; }
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

 private:
  EffortController controller_{Learner()};
  std::int64_t number_ = 0;
  double arrival_s_ = 0;
  double lag_ = 0;
  std::uint64_t dropped_ = 0;
};

TEST(EffortControllerTest, LearnsFromEveryFrameWhileThatKeepsUp) {
  Camera camera;
  camera.Film(1000, 0.110);
  EXPECT_EQ(camera.controller().update_every(), 1);
}

TEST(EffortControllerTest, GivesUpLearningUntilTheRateHolds) {
  Camera camera;
  camera.Film(1000, 0.050);  // Every fourth fits: 40 ms.
  EXPECT_EQ(camera.controller().update_every(), 4);
  const std::uint64_t dropped = camera.dropped();
  camera.Film(2000, 0.050);
  EXPECT_EQ(camera.dropped(), dropped) << "it has come to rest";
  EXPECT_EQ(camera.controller().update_every(), 4);
}

TEST(EffortControllerTest, PredictsOnlyBeforeItDropsForGood) {
  Camera camera;
  camera.Film(1000, 0.0195);
  EXPECT_EQ(camera.controller().update_every(), 0);
}

TEST(EffortControllerTest, ComesBackWhenThereIsRoomAgainAndStays) {
  Camera camera;
  camera.Film(1000, 0.025);
  EXPECT_GT(camera.controller().update_every(), 4);
  camera.Film(3000, 0.150);
  EXPECT_EQ(camera.controller().update_every(), 1);
}

TEST(EffortControllerTest, DoesNotSwingAtTheEdge) {
  Camera camera;
  camera.Film(2000, 0.062);  // Every second takes 60 ms: it fits, but with nothing to spare.
  const int every = camera.controller().update_every();
  for (int i = 0; i < 40; ++i) {
    camera.Film(50, 0.062);
    EXPECT_EQ(camera.controller().update_every(), every);
  }
}

/// A camera with far too many frames for the learner.
class TooFastCamera {
 public:
  explicit TooFastCamera(RateKeeper& keeper) : keeper_(keeper) {}

  void Film(int frames) {
    for (int i = 0; i < frames; ++i) {
      frame_.arrival += std::chrono::milliseconds(10);
      keeper_.OnFrame(frame_, dropped_ += 1, RateKeeper::Pace::kOfCamera);
      ++frame_.number;
    }
  }

 private:
  RateKeeper& keeper_;
  ingest::Frame frame_;
  std::uint64_t dropped_ = 0;
};

// The log went on to say that it learned from one frame in 32.
TEST(RateKeeperTest, SaysHowMuchIsLearnedUnlessLearningIsGivenUp) {
  const ingest::Logged logged;
  FakeLearner learner({}, [](const auto& /*prediction*/) {});
  RateKeeper keeper("street", learner, std::nullopt);
  TooFastCamera camera(keeper);
  camera.Film(60);
  EXPECT_EQ(logged.text(), "info street: learns from one frame in 2 now\n");
  learner.SetLearning({.roll_backs = 12, .rate_scale = 0});
  camera.Film(1000);
  EXPECT_EQ(keeper.update_every(), 0);
  EXPECT_EQ(logged.text(), "info street: learns from one frame in 2 now\n");
  learner.SetLearning({});
  camera.Film(1);
  EXPECT_THAT(logged.text(), testing::HasSubstr("only predicts now, to keep the camera's rate"));
}

}  // namespace
}  // namespace millrace::service
