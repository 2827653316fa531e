#include "service/web/page_host.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::service {
namespace {

using ::testing::HasSubstr;

using Headers = std::map<std::string, std::string>;

HttpResponse Ask(Headers headers) {
  const std::vector<HttpRoute> routes = UnderTrustedNames(
      {{"/api/streams", [](const HttpRequest&) { return HttpResponse{.body = "all of it"}; }}});
  return Dispatch(routes, {.path = "/api/streams", .headers = std::move(headers)});
}

TEST(PageHostTest, AnswersUnderAddressesAndLocalhost) {
  for (const char* host : {"127.0.0.1:8080", "127.0.0.1", "localhost:8080", "LOCALHOST", "[::1]",
                           "[::1]:8080", "192.168.1.20:8080"}) {
    EXPECT_EQ(Ask({{"host", host}}).body, "all of it") << host;
  }
}

// A name of somebody else's that stands for this machine.
TEST(PageHostTest, SaysNothingUnderANameThatAnybodyMayOwn) {
  for (const char* host : {"evil.example:8080", "evil.example", "127.0.0.1.evil.example",
                           "localhost.evil.example", "[evil.example]", "[", ":8080", ""}) {
    const HttpResponse refused = Ask({{"host", host}});
    EXPECT_EQ(refused.status, 421) << host;
    EXPECT_THAT(refused.body, HasSubstr("http://127.0.0.1:8080")) << host;
  }
  EXPECT_EQ(Ask({}).status, 421);
  // What a script of that page can add itself.
  EXPECT_EQ(Ask({{"host", "evil.example"}, {"x-forwarded-for", "127.0.0.1"}}).status, 421);
}

TEST(PageHostTest, AProxyMayHaveANameWhereNoScriptCanFeignOne) {
  EXPECT_EQ(Ask({{"host", "door.example"}, {"sec-fetch-site", "same-origin"}}).status, 200);
  EXPECT_EQ(Ask({{"host", "door.example"}, {"via", "1.1 Caddy"}}).status, 200);
}

TEST(PageHostTest, TellsAPagesOriginByItsReferrerWhereItSaysNone) {
  const auto origin = [](const Headers& headers) {
    return OriginOf({.path = "/", .headers = headers});
  };
  EXPECT_EQ(origin({}), "");
  EXPECT_EQ(origin({{"referer", "https://door.example/"}}), "https://door.example");
  EXPECT_EQ(origin({{"referer", "https://door.example"}}), "https://door.example");
  EXPECT_EQ(origin({{"origin", "null"}, {"referer", "https://door.example/"}}), "null");
}

}  // namespace
}  // namespace millrace::service
