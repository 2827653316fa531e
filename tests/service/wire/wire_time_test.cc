#include "service/wire/wire_time.h"

#include <chrono>
#include <cstdint>
#include <limits>
#include <utility>

#include <gtest/gtest.h>

#include "absl/status/status.h"

namespace millrace::service {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

google::protobuf::Timestamp Timestamp(std::int64_t seconds, std::int32_t nanos) {
  google::protobuf::Timestamp message;
  message.set_seconds(seconds);
  message.set_nanos(nanos);
  return message;
}

TEST(WireTimeTest, NanosecondsOfATimeAreNeverNegative) {
  google::protobuf::Timestamp message;
  SetTime(-1ns, message);
  EXPECT_EQ(message.seconds(), -1);
  EXPECT_EQ(message.nanos(), 999'999'999);
  SetTime(5s + 7ns, message);
  EXPECT_EQ(message.seconds(), 5);
  EXPECT_EQ(message.nanos(), 7);
}

TEST(WireTimeTest, TimesFrom1970To2199AreRead) {
  const std::int64_t last = 7'258'118'399;
  for (const std::int64_t seconds : {std::int64_t{0}, last}) {
    for (const std::int32_t nanos : {0, 999'999'999}) {
      const auto time = FromTime(Timestamp(seconds, nanos));
      ASSERT_TRUE(time.ok()) << time.status();
      EXPECT_EQ(*time, std::chrono::seconds(seconds) + nanoseconds(nanos));
      google::protobuf::Timestamp back;
      SetTime(*time, back);
      EXPECT_EQ(back.seconds(), seconds);
      EXPECT_EQ(back.nanos(), nanos);
    }
  }
}

TEST(WireTimeTest, OtherTimesAndNanosecondsOutsideASecondAreRefused) {
  for (const auto& [seconds, nanos] : {std::pair<std::int64_t, std::int32_t>(-1, 0),
                                       {7'258'118'400, 0},
                                       {std::numeric_limits<std::int64_t>::max(), 0},
                                       {std::numeric_limits<std::int64_t>::min(), 0},
                                       {0, -1},
                                       {0, 1'000'000'000}}) {
    EXPECT_TRUE(absl::IsInvalidArgument(FromTime(Timestamp(seconds, nanos)).status()))
        << seconds << " " << nanos;
  }
}

TEST(WireTimeTest, SecondsAndNanosecondsOfADurationHaveTheSameSign) {
  google::protobuf::Duration message;
  SetDuration(-(2s + 300ms), message);
  EXPECT_EQ(message.seconds(), -2);
  EXPECT_EQ(message.nanos(), -300'000'000);
  SetDuration(2s + 300ms, message);
  EXPECT_EQ(message.seconds(), 2);
  EXPECT_EQ(message.nanos(), 300'000'000);
}

TEST(WireTimeTest, SecondsAreRoundedToTheNearestNanosecond) {
  EXPECT_EQ(FromSeconds(0.1), 100ms);
  EXPECT_EQ(FromSeconds(1.6e-9), 2ns);
  EXPECT_EQ(FromSeconds(-1.6e-9), -2ns);
  EXPECT_EQ(FromMilliseconds(0.0000014), 1ns);
}

}  // namespace
}  // namespace millrace::service
