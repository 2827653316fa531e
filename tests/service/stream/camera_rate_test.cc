#include "service/stream/camera_rate.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "service/stream/rate_keeper.h"
#include "tests/service/support/fake_learner.h"

namespace millrace::service {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;

class CameraRateTest : public ::testing::Test {
 protected:
  // Films at `rate` for `seconds`, and returns the first change of rate.
  std::optional<double> Film(double rate, double seconds) {
    std::optional<double> changed;
    for (int i = 0; i < rate * seconds; ++i) {
      frame_.arrival += std::chrono::nanoseconds(static_cast<std::int64_t>(1e9 / rate));
      const std::optional<double> now = camera_.OnFrame(frame_);
      if (!changed) changed = now;
      ++frame_.number;
    }
    return changed;
  }

  CameraRate camera_{25};
  ingest::Frame frame_;
};

TEST_F(CameraRateTest, KeepsARateThatStays) {
  EXPECT_EQ(Film(25, 60), std::nullopt);
  EXPECT_EQ(Film(23.976, 60), std::nullopt) << "within a tenth";
  EXPECT_EQ(Film(27, 60), std::nullopt);
}

TEST_F(CameraRateTest, FollowsACameraThatHasSlowedDownForTheNight) {
  EXPECT_EQ(Film(25, 20), std::nullopt);
  EXPECT_THAT(Film(12.5, 10), Optional(DoubleNear(12.5, 0.2)));
  EXPECT_EQ(Film(12.5, 60), std::nullopt) << "it is planned for now";
  EXPECT_THAT(Film(25, 10), Optional(DoubleNear(25, 0.4)));
}

TEST_F(CameraRateTest, FollowsACameraThatNeverKeptToItsAnnouncement) {
  EXPECT_THAT(Film(6, 20), Optional(DoubleNear(6, 0.1)));
}

TEST_F(CameraRateTest, FollowsOneFrameASecond) {
  EXPECT_THAT(Film(1, 60), Optional(DoubleNear(1, 0.01)));
}

TEST_F(CameraRateTest, TwoSecondsOfHasteAreNoNewRate) {
  EXPECT_EQ(Film(25, 20), std::nullopt);
  EXPECT_EQ(Film(50, 2), std::nullopt);
  EXPECT_EQ(Film(25, 20), std::nullopt);
}

// A camera that is away for a while does not send slowly.
TEST_F(CameraRateTest, AnOutageIsNoRate) {
  for (int outage = 0; outage < 5; ++outage) {
    EXPECT_EQ(Film(25, 1.5), std::nullopt);
    frame_.arrival += std::chrono::seconds(10);
    outage % 2 == 0 ? ++frame_.epoch : ++frame_.gaps;
  }
}

// The queue's losses are in the numbers, so a slow learner does not look like a slow camera.
TEST_F(CameraRateTest, DroppedFramesCount) {
  for (int i = 0; i < 500; ++i) {
    frame_.arrival += std::chrono::milliseconds(80);
    frame_.number += 2;
    EXPECT_EQ(camera_.OnFrame(frame_), std::nullopt);
  }
}

// Films at ten frames a second through a RateKeeper, and returns the rates that its learner
// follows.
std::vector<double> RatesFollowed(RateKeeper::Pace pace) {
  FakeLearner learner({}, [](const auto& /*prediction*/) {});
  RateKeeper keeper("street", learner, CameraRate(25));
  ingest::Frame frame;
  for (int i = 0; i < 300; ++i) {
    frame.arrival += std::chrono::milliseconds(100);
    keeper.OnFrame(frame, /*dropped=*/0, pace);
    ++frame.number;
  }
  return learner.rates_followed;
}

TEST(RateKeeperTest, TheLearnerFollowsAnotherRateOnce) {
  EXPECT_THAT(RatesFollowed(RateKeeper::Pace::kOfCamera), ElementsAre(DoubleNear(10, 0.1)));
}

// Its rate would be the learner's own, for which the learner would plan again and again.
TEST(RateKeeperTest, ASourceThatWaitsHasNoRate) {
  EXPECT_THAT(RatesFollowed(RateKeeper::Pace::kOfLearner), IsEmpty());
}

}  // namespace
}  // namespace millrace::service
