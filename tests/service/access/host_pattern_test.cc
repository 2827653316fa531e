#include "service/access/host_pattern.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::service {
namespace {

struct Case {
  std::string pattern;
  std::vector<std::string> matched;
  std::vector<std::string> others;
};

TEST(HostPatternTest, MeansTheseHostsAndNoOthers) {
  for (const Case& of : std::vector<Case>{
           {"*", {"gate", "a.b.example.org", "10.0.0.1", "::1"}, {}},
           {"10.0.0.*",
            {"10.0.0.0", "10.0.0.255"},
            {"10.0.0.evil.example", "10.0.0.256", "10.0.0.1.2", "10.0.0.", "10.0.0.*", "10.0.1.1",
             "10.0.0.1x", "::ffff:10.0.0.1"}},
           {"10.*.0.1", {"10.9.0.1"}, {"10.0.1", "10.9.0.0.1", "10.9.1.1"}},
           {"10.0.0.2*", {"10.0.0.2", "10.0.0.25", "10.0.0.255"}, {"10.0.0.12"}},
           {"10.0.0.7", {"10.0.0.7"}, {"10.0.0.70", "10.0.0.7.example"}},
           {"10.0.0.0/24", {"10.0.0.1", "10.0.0.255"}, {"10.0.1.0", "10.0.0.evil.example"}},
           {"10.0.0.8/29", {"10.0.0.8", "10.0.0.15"}, {"10.0.0.7", "10.0.0.16"}},
           {"0.0.0.0/0", {"1.2.3.4"}, {"::1", "gate"}},
           {"fd00::/8", {"fd00::1", "FD12:3456::1"}, {"fe80::1", "10.0.0.1", "fd00.example"}},
           {"::1", {"::1", "0:0:0:0:0:0:0:1"}, {"::2", "127.0.0.1"}},
           {"example.org", {"example.org", "Example.ORG"}, {"gate.example.org", "example.orgs"}},
           {"*.Example.org",
            {"gate.example.org", "GATE.example.org"},
            {"example.org", "a.gate.example.org", ".example.org.evil", "gate.example.org.evil"}},
           {"*.*.example.org", {"a.gate.example.org"}, {"gate.example.org"}},
           {"cam-*.lan", {"cam-.lan", "cam-12.lan"}, {"cam-1.x.lan", "cam.lan"}}}) {
    EXPECT_TRUE(CheckHostPattern(of.pattern).ok()) << of.pattern;
    for (const std::string& host : of.matched) {
      EXPECT_TRUE(HostMatches(host, of.pattern)) << host << " " << of.pattern;
    }
    for (const std::string& host : of.others) {
      EXPECT_FALSE(HostMatches(host, of.pattern)) << host << " " << of.pattern;
    }
  }
}

TEST(HostPatternTest, WhatIsNoneIsSaidAndMeansNothing) {
  for (const char* pattern :
       {"", "10.0.*", "10.0.0.0/33", "10.0.0.0/", "10.0.0.300", "10.0.0.", "10.0.0.*/24", "fd00::*",
        "fd00::/129", "fe80::1%eth0", "a..b", "*..", "gate?", "[ab].lan", "a b", "a/8"}) {
    const absl::Status status = CheckHostPattern(pattern);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << pattern;
    EXPECT_THAT(std::string(status.message()), testing::HasSubstr("is no pattern of hosts; write"));
    for (const char* host : {"10.0.0.1", "fd00::1", "gate", "a.lan", ""}) {
      EXPECT_FALSE(HostMatches(host, pattern)) << host << " " << pattern;
    }
  }
}

}  // namespace
}  // namespace millrace::service
