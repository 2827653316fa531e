#include "service/net/open_files.h"

#include <sys/resource.h>

#include <cstdlib>
#include <iostream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::service {
namespace {

/// Restores the limit.
class OpenFilesTest : public ::testing::Test {
 protected:
  OpenFilesTest() { getrlimit(RLIMIT_NOFILE, &before_); }
  ~OpenFilesTest() override { setrlimit(RLIMIT_NOFILE, &before_); }

  static void SetSoft(rlim_t soft) {
    rlimit limit = {};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = soft;
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  }

  rlimit before_ = {};
};

TEST_F(OpenFilesTest, RaisesTheLimitAsFarAsItMay) {
  SetSoft(128);
  ASSERT_TRUE(RaiseOpenFiles(1).ok());
  EXPECT_EQ(MaxOpenFiles(), std::min<std::size_t>(before_.rlim_max, 1 << 20));
}

// In a process of its own, which cannot raise its limit again.
TEST_F(OpenFilesTest, SaysHowManyAreNeeded) {
  const auto start_where_few_may_be_open = [] {
    const rlimit few = {.rlim_cur = 512, .rlim_max = 512};
    setrlimit(RLIMIT_NOFILE, &few);
    const absl::Status status = RaiseOpenFiles(64);
    std::cerr << status;
    std::_Exit(absl::IsResourceExhausted(status) ? 0 : 1);
  };
  EXPECT_EXIT(start_where_few_may_be_open(), ::testing::ExitedWithCode(0),
              "may have 512 files open, and needs 880 for 64 streams: raise the limit");
}

std::size_t OfClients(const OpenFileShares& shares) {
  return shares.grpc.in_all + shares.page.in_all + shares.probes.in_all;
}

TEST_F(OpenFilesTest, LeavesAQuarterToCamerasAndFiles) {
  for (const std::size_t limit : {256U, 1024U, 4096U, 65'536U, 1U << 20}) {
    const OpenFileShares shares = ShareOpenFiles(limit, 1);
    EXPECT_LE(OfClients(shares), limit - limit / 4) << limit;
    EXPECT_LT(shares.grpc.per_client, shares.grpc.in_all) << limit;
  }
  EXPECT_GE(ShareOpenFiles(1U << 20, 1).page.in_all, 10'000U);
}

// At the least limit that it starts with, too.
TEST_F(OpenFilesTest, LeavesWhatTheStreamsNeed) {
  constexpr std::size_t kOfStream = 12;
  for (const std::size_t limit : {880U, 1024U, 4096U}) {
    const OpenFileShares shares = ShareOpenFiles(limit, 64);
    EXPECT_GE(shares.streams, 64U) << limit;
    EXPECT_LE(OfClients(shares) + shares.streams * kOfStream, limit) << limit;
  }
  EXPECT_EQ(ShareOpenFiles(1024, 1).streams, 16U) << "clients may add no more than that";
}

}  // namespace
}  // namespace millrace::service
