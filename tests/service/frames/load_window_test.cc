#include "service/frames/load_window.h"

#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::service {
namespace {

using pipeline::StageTime;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<StageTime> Worked(nanoseconds predicting, nanoseconds learning) {
  return {{.predicting = predicting, .learning = learning}};
}

TEST(LoadWindowTest, TellsTheShareOfTheTimeThatAStageWorks) {
  LoadWindow window;
  window.Record(seconds(100), Worked(seconds(7), seconds(3)));
  const auto loads = window.At(seconds(104), Worked(seconds(8), seconds(5)));
  ASSERT_THAT(loads, SizeIs(1));
  EXPECT_DOUBLE_EQ(loads[0].predicting, 0.25);
  EXPECT_DOUBLE_EQ(loads[0].learning, 0.5);
}

TEST(LoadWindowTest, LooksBackTenSecondsAndNoFurther) {
  LoadWindow window;
  nanoseconds now{0};
  nanoseconds learned{0};
  const auto pass = [&](int seconds_to_pass, bool learning) {
    for (int i = 0; i < 2 * seconds_to_pass; ++i) {
      window.Record(now, Worked(seconds(0), learned));
      now += milliseconds(500);
      if (learning) learned += milliseconds(500);
    }
    return window.At(now, Worked(seconds(0), learned))[0].learning;
  };
  EXPECT_DOUBLE_EQ(pass(20, /*learning=*/true), 1);
  EXPECT_DOUBLE_EQ(pass(5, /*learning=*/false), 0.5);
  EXPECT_DOUBLE_EQ(pass(5, /*learning=*/false), 0);
}

// As of a paused learner, whose frames make no readings.
TEST(LoadWindowTest, FallsToNothingWhenNothingIsTold) {
  LoadWindow window;
  window.Record(seconds(1), Worked(seconds(1), seconds(0)));
  window.Record(seconds(2), Worked(seconds(2), seconds(0)));
  EXPECT_DOUBLE_EQ(window.At(seconds(12), Worked(seconds(2), seconds(0)))[0].predicting, 0);
}

TEST(LoadWindowTest, KnowsNothingBeforeThereIsSomethingToCompare) {
  LoadWindow window;
  EXPECT_THAT(window.At(seconds(1), Worked(seconds(1), seconds(0))), IsEmpty());
  window.Record(seconds(1), Worked(seconds(1), seconds(0)));
  EXPECT_THAT(window.At(seconds(1), Worked(seconds(1), seconds(0))), IsEmpty());
  EXPECT_THAT(window.At(seconds(2), {}), IsEmpty()) << "as on a GPU";
}

TEST(LoadWindowTest, BeginsAnewWithOtherStages) {
  LoadWindow window;
  window.Record(seconds(1), Worked(seconds(1), seconds(0)));
  const std::vector<StageTime> two(2);
  EXPECT_THAT(window.At(seconds(2), two), IsEmpty());
  window.Record(seconds(2), two);
  EXPECT_THAT(window.At(seconds(3), two), SizeIs(2));
}

}  // namespace
}  // namespace millrace::service
