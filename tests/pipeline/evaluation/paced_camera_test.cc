#include "pipeline/evaluation/paced_camera.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::pipeline {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using ::testing::ElementsAre;

class PacedCameraTest : public ::testing::Test {
 protected:
  [[nodiscard]] PacedCamera Camera(std::int64_t pairs, nanoseconds interval) {
    return {pairs, interval, clock_, [this](nanoseconds time) {
              EXPECT_GT(time, nanoseconds(0));
              clock_.Advance(time);
              ++sleeps_;
            }};
  }

  // All pairs that a learner takes which is busy for `busy` after each.
  [[nodiscard]] std::vector<std::int64_t> Taken(PacedCamera camera, nanoseconds busy) {
    std::vector<std::int64_t> taken;
    while (const std::optional<std::int64_t> pair = camera.TakeNewest({})) {
      taken.push_back(*pair);
      clock_.Advance(busy);
    }
    return taken;
  }

  FakeClock clock_{hours(5)};
  int sleeps_ = 0;
};

TEST_F(PacedCameraTest, AFastLearnerGetsEveryPairWhenItComes) {
  PacedCamera camera = Camera(3, milliseconds(40));
  for (int pair = 0; pair < 3; ++pair) {
    EXPECT_EQ(camera.TakeNewest({}), pair);
    EXPECT_EQ(clock_.Now() - camera.start(), pair * milliseconds(40));
    clock_.Advance(milliseconds(39));
  }
  EXPECT_EQ(camera.TakeNewest({}), std::nullopt);
  EXPECT_EQ(sleeps_, 2);
}

TEST_F(PacedCameraTest, ASlowLearnerGetsTheNewestPairAndTheLast) {
  EXPECT_THAT(Taken(Camera(10, milliseconds(40)), milliseconds(90)), ElementsAre(0, 2, 4, 6, 9));
  EXPECT_EQ(sleeps_, 0);
  EXPECT_THAT(Taken(Camera(10, milliseconds(40)), hours(1)), ElementsAre(0, 9));
}

TEST_F(PacedCameraTest, APairIsThereInTheInstantThatItComes) {
  EXPECT_THAT(Taken(Camera(4, milliseconds(40)), milliseconds(40)), ElementsAre(0, 1, 2, 3));
}

TEST_F(PacedCameraTest, WithoutPairsItEndsAtOnce) {
  EXPECT_THAT(Taken(Camera(0, milliseconds(40)), milliseconds(1)), ElementsAre());
}

TEST_F(PacedCameraTest, AStopEndsALongWait) {
  PacedCamera camera = Camera(2, hours(1));
  EXPECT_EQ(camera.TakeNewest({}), 0);
  std::stop_source stop;
  PacedCamera stopped(2, hours(1), clock_, [&](nanoseconds time) {
    clock_.Advance(time);
    if (++sleeps_ == 3) stop.request_stop();
  });
  EXPECT_EQ(stopped.TakeNewest(stop.get_token()), 0);
  EXPECT_EQ(stopped.TakeNewest(stop.get_token()), std::nullopt);
  EXPECT_EQ(sleeps_, 3) << "it looks several times a second";
}

}  // namespace
}  // namespace millrace::pipeline
