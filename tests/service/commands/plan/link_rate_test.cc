#include "service/commands/plan/link_rate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::service {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(LinkRateTest, ReadsTheFormsThatUsersWrite) {
  const std::pair<const char*, double> forms[] = {
      {"1gbit", 125e6},      {"200mbit", 25e6},   {"2.5Gbit/s", 312.5e6}, {"10Gbps", 1.25e9},
      {"125MB/s", 125e6},    {"100Mb/s", 12.5e6}, {" 1 Gbit/s ", 125e6},  {"512kbit", 64e3},
      {"12.5GBps", 12.5e9},  {"8000000bit", 1e6}, {"1Tbit/s", 125e9},     {"1GBIT", 125e6},
      {"1000 kB/s", 1000e3}, {".5gbit", 62.5e6},  {"1gbps", 125e6},       {"56kbps", 7e3}};
  for (const auto& [text, rate] : forms) {
    const auto parsed = ParseLinkRate(text, "--link");
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_DOUBLE_EQ(*parsed, rate) << text;
  }
}

TEST(LinkRateTest, RefusesOtherTextsWithExamples) {
  for (const char* text : {"", "fast", "1", "1g", "1GB", "125MB", "gbit", "0gbit", "-1gbit",
                           "1.2.3gbit", "1gbit/min", "1 gibit", "1e3mbit", "1gbit x", "1Kib/s"}) {
    const auto parsed = ParseLinkRate(text, "--link");
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_THAT(parsed.status().message(),
                AllOf(HasSubstr("--link: '"), HasSubstr(text), HasSubstr("such as 1gbit")));
  }
}

TEST(LinkRateTest, SaysARateInBits) {
  EXPECT_EQ(LinkRateText(125e6), "1 Gbit/s");
  EXPECT_EQ(LinkRateText(25e6), "200 Mbit/s");
  EXPECT_EQ(LinkRateText(312.5e6), "2.5 Gbit/s");
  EXPECT_EQ(LinkRateText(7e3), "56 kbit/s");
}

}  // namespace
}  // namespace millrace::service
