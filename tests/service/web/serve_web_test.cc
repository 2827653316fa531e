#include "service/web/serve_web.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/service/support/borrowed_streams.h"
#include "tests/service/support/http_client.h"

namespace millrace::service {
namespace {

using ::testing::StartsWith;

int PortOf(const std::string& url) { return std::stoi(url.substr(url.rfind(':') + 1)); }

// The certificate of gRPC is not theirs: they have none.
TEST(ServeWebTest, ListensOnThisMachineOnlyWhereJustGrpcIsTls) {
  BorrowedStreams streams = {};
  Liveness liveness(streams);
  const auto web = ServeWeb::Start(
      {.listen = {.address = "0.0.0.0",
                  .http_port = 0,
                  .metrics_port = 0,
                  .security = {.tls = {.certificate = "a", .key = "b", .client_ca = ""}}},
       .streams = &streams,
       .liveness = &liveness});
  ASSERT_TRUE(web.ok()) << web.status();
  EXPECT_THAT((*web)->page_url(), StartsWith("http://127.0.0.1:"));
  EXPECT_THAT((*web)->metrics_url(), StartsWith("http://127.0.0.1:"));

  const int port = PortOf((*web)->page_url());
  EXPECT_EQ(Get(port, "/").status, 200);
  EXPECT_EQ(HttpConnection(port).Ask("GET", "/", "evil.example").status, 421)
      << "of this machine alone, it answers under no name of somebody else's";
  (*web)->BeginStop();
}

}  // namespace
}  // namespace millrace::service
