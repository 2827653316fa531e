#include "service/open_files.h"

#include <sys/resource.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::service {
namespace {

using ::testing::HasSubstr;

/// Sets the limit back.
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
  EXPECT_EQ(MostOpenFiles(), std::min<std::size_t>(before_.rlim_max, 1 << 20));
}

TEST_F(OpenFilesTest, SaysHowManyAreNeeded) {
  const absl::Status status = RaiseOpenFiles(1 << 20);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("for 1048576 streams: raise the limit"));
}

TEST_F(OpenFilesTest, LeavesAQuarterToCamerasAndFiles) {
  for (const std::size_t limit : {256U, 1024U, 4096U, 65'536U, 1U << 20}) {
    const OpenFileShares shares = ShareOpenFiles(limit);
    const std::size_t clients = shares.grpc.in_all + shares.page.in_all + shares.probes.in_all;
    EXPECT_LE(clients, limit - limit / 4) << limit;
    EXPECT_LT(shares.grpc.per_client, shares.grpc.in_all) << limit;
  }
  EXPECT_GE(ShareOpenFiles(1U << 20).page.in_all, 10'000U);
}

}  // namespace
}  // namespace millrace::service
