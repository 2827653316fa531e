#include "ingest/source/lag_watch.h"

#include <gtest/gtest.h>

namespace millrace::ingest {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::nanoseconds;
using std::chrono::seconds;

class LagWatchTest : public ::testing::Test {
 protected:
  /// Takes `count` pictures, with these intervals of their own time and of decoding. Returns the
  /// number of reports of a lag.
  int Take(int count, nanoseconds sent_every, nanoseconds decoded_every) {
    int said = 0;
    for (int i = 0; i < count; ++i) {
      stream_time_ += sent_every;
      now_ += decoded_every;
      if (const auto lag = watch_.Take(stream_time_, now_)) {
        lag_ = *lag;
        ++said;
      }
    }
    return said;
  }

  LagWatch watch_{seconds(4)};
  LagWatch::Lag lag_;
  nanoseconds stream_time_ = seconds(7);
  nanoseconds now_ = seconds(100'000);
};

TEST_F(LagWatchTest, SaysByHowMuchACameraIsTooFastForTheDecoder) {
  EXPECT_EQ(Take(100, milliseconds(40), milliseconds(40)), 0);
  EXPECT_EQ(Take(130, milliseconds(40), milliseconds(100)), 1);
  EXPECT_NEAR(lag_.sent, 25, 0.1);
  EXPECT_NEAR(lag_.decoded, 10, 0.1);
  EXPECT_GT(lag_.behind, seconds(6));
  EXPECT_LT(lag_.behind, seconds(8));
}

TEST_F(LagWatchTest, ACameraThatJittersOrStallsDoesNotLag) {
  for (int i = 0; i < 1000; ++i) {
    const bool late = i % 2 == 0;
    EXPECT_EQ(Take(1, milliseconds(40), milliseconds(late ? 70 : 10)), 0) << i;
  }
  EXPECT_EQ(Take(1, milliseconds(40), seconds(3)), 0) << "the network held them back";
  EXPECT_EQ(Take(75, milliseconds(40), milliseconds(1)), 0) << "and brings them all at once";
  EXPECT_EQ(Take(1000, milliseconds(40), milliseconds(40)), 0);
  EXPECT_EQ(Take(100, seconds(4), seconds(4)), 0) << "one that is slow";
}

// A machine that was busy for a while is late from then on, and no later.
TEST_F(LagWatchTest, TwoSlowWindowsAreNone) {
  EXPECT_EQ(Take(250, milliseconds(40), milliseconds(40)), 0);
  EXPECT_EQ(Take(60, milliseconds(40), milliseconds(80)), 0);
  EXPECT_EQ(Take(1000, milliseconds(40), milliseconds(40)), 0);
}

TEST_F(LagWatchTest, ACameraOfAClockThatIsALittleSlowDoesNotLag) {
  EXPECT_EQ(Take(10'000, milliseconds(39), milliseconds(40)), 0);
}

TEST_F(LagWatchTest, SaysItAgainAfterAQuarterOfAnHour) {
  const int for_an_hour = static_cast<int>(minutes(60) / milliseconds(100));
  EXPECT_EQ(Take(for_an_hour, milliseconds(40), milliseconds(100)), 4);
}

TEST_F(LagWatchTest, ASessionsTimesAreItsOwn) {
  EXPECT_EQ(Take(100, milliseconds(40), milliseconds(100)), 0);
  watch_.Restart();
  stream_time_ = seconds(0);
  EXPECT_EQ(Take(100, milliseconds(40), milliseconds(100)), 0);
  EXPECT_EQ(Take(50, milliseconds(40), milliseconds(100)), 1);
  EXPECT_LT(lag_.behind, seconds(8));
}

}  // namespace
}  // namespace millrace::ingest
