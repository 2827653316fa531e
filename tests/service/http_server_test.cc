#include "service/http_server.h"

#include <chrono>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/service/http_client.h"

namespace millrace::service {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::vector<HttpRoute> SomeRoutes() {
  return {{"/hello", [](const HttpRequest&) { return HttpResponse{.body = "hello\n"}; }},
          {"/echo/*/of/*",
           [](const HttpRequest& request) {
             return HttpResponse{.body = request.captures[0] + " " + request.captures[1] + " " +
                                         request.Parameter("q").value_or("-"),
                                 .headers = {{"X-Made-By", "echo"}}};
           }},
          {.pattern = "/hidden.css",
           .handler = [](const HttpRequest&) { return HttpResponse{}; },
           .listed = false},
          {"/throws", [](const HttpRequest&) -> HttpResponse { throw std::runtime_error("no"); }},
          {"/throws/oddly", [](const HttpRequest&) -> HttpResponse { throw 42; }}};
}

/// One server for all tests: none changes it.
class HttpServerTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto started = HttpServer::Start(
        {.threads = kThreads, .port_key = "listen.http_port", .routes = SomeRoutes()});
    ASSERT_TRUE(started.ok()) << started.status();
    server = started->release();
  }
  static void TearDownTestSuite() { delete server; }

  static constexpr int kThreads = 4;
  static inline HttpServer* server = nullptr;
};

TEST_F(HttpServerTest, AnswersAtTheFreePortThatItTook) {
  EXPECT_GT(server->port(), 0);
  const HttpAnswer answer = Get(server->port(), "/hello");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "hello\n");
  EXPECT_THAT(answer.headers, HasSubstr("Content-Type: text/plain; charset=utf-8"));
}

TEST_F(HttpServerTest, GivesHandlersWhatTheStarsStandForAndTheQueryDecoded) {
  const HttpAnswer answer = Get(server->port(), "/echo/a%20b/of/c?q=1%2B1");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "a b c 1+1");
  EXPECT_THAT(answer.headers, HasSubstr("X-Made-By: echo"));
}

TEST_F(HttpServerTest, SaysOnceWhenItAnswered) {
  const absl::Time before = absl::Now() - absl::Seconds(1);  // It says whole seconds.
  const std::string headers = Get(server->port(), "/hello").headers;
  const std::string name = "\r\nDate: ";
  const std::size_t begin = headers.find(name);
  ASSERT_NE(begin, std::string::npos) << headers;
  EXPECT_EQ(headers.rfind(name), begin) << headers;
  const std::size_t value = begin + name.size();
  absl::Time said;
  std::string error;
  ASSERT_TRUE(absl::ParseTime("%a, %d %b %Y %H:%M:%S GMT",
                              headers.substr(value, headers.find('\r', value) - value), &said,
                              &error))
      << error;
  EXPECT_GT(said, before);
  EXPECT_LE(said, absl::Now());
}

TEST_F(HttpServerTest, AnswersHeadWithoutABody) {
  const HttpAnswer answer = HttpConnection(server->port()).Ask("HEAD", "/hello");
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(answer.headers, HasSubstr("Content-Length: 6"));
  EXPECT_THAT(answer.body, IsEmpty());
}

TEST_F(HttpServerTest, RefusesOtherMethods) {
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS"}) {
    const HttpAnswer answer = HttpConnection(server->port()).Ask(method, "/hello");
    EXPECT_EQ(answer.status, 405) << method;
    EXPECT_THAT(answer.headers, HasSubstr("Allow: GET, HEAD")) << method;
  }
}

TEST_F(HttpServerTest, SaysPlainlyThatAPathIsUnknown) {
  for (const char* path : {"/", "/hello/", "/hello/more", "/echo//of/c", "/%3Cscript%3E"}) {
    const HttpAnswer answer = Get(server->port(), path);
    EXPECT_EQ(answer.status, 404) << path;
    EXPECT_THAT(answer.headers, HasSubstr("text/plain")) << path;
    EXPECT_THAT(answer.body, HasSubstr(". There is:\n  /hello\n  /echo/NAME/of/NAME\n")) << path;
    EXPECT_THAT(answer.body, Not(HasSubstr("/hidden"))) << path;
  }
}

TEST_F(HttpServerTest, SurvivesAHandlerThatThrows) {
  EXPECT_EQ(Get(server->port(), "/throws").status, 500);
  EXPECT_EQ(Get(server->port(), "/throws/oddly").status, 500) << "it must not pass through C";
  EXPECT_EQ(Get(server->port(), "/hello").status, 200);
}

TEST_F(HttpServerTest, AnIdleConnectionDoesNotKeepOthersWaiting) {
  std::vector<std::unique_ptr<HttpConnection>> idle;  // As many as there are threads, less one.
  for (int i = 0; i < kThreads - 1; ++i)
    idle.push_back(std::make_unique<HttpConnection>(server->port()));
  EXPECT_EQ(Get(server->port(), "/hello").status, 200);
}

// The tricklers come first, so that each has a thread before there is one for who asks. Never ends,
// and is killed by the test's timeout, where a body is waited for.
TEST_F(HttpServerTest, ABodyThatTricklesDoesNotKeepOthersWaiting) {
  std::vector<std::unique_ptr<HttpConnection>> tricklers;
  for (int i = 0; i < kThreads; ++i) {
    tricklers.push_back(std::make_unique<HttpConnection>(server->port()));
    ASSERT_TRUE(tricklers.back()->Send(
        "POST /hello HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\n"));
  }
  std::future<HttpAnswer> answer =
      std::async(std::launch::async, [] { return Get(server->port(), "/hello"); });
  while (answer.wait_for(std::chrono::milliseconds(100)) != std::future_status::ready) {
    for (const auto& trickler : tricklers) static_cast<void>(trickler->Send("x"));
  }
  EXPECT_EQ(answer.get().status, 200);
}

TEST_F(HttpServerTest, NamesAddressPortAndKeyWhenThePortIsInUse) {
  const auto second = HttpServer::Start({.port = server->port(), .port_key = "listen.http_port"});
  ASSERT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.status().message()),
              HasSubstr("127.0.0.1:" + std::to_string(server->port())));
  EXPECT_THAT(std::string(second.status().message()), HasSubstr("listen.http_port"));
}

TEST(HttpRouteTest, StarsStandForOneSegment) {
  std::vector<std::string> captures;
  EXPECT_TRUE(MatchesRoute("/streams/*/flow.jpg", "/streams/gate/flow.jpg", captures));
  EXPECT_THAT(captures, ElementsAre("gate"));
  EXPECT_FALSE(MatchesRoute("/streams/*/flow.jpg", "/streams/a/b/flow.jpg", captures));
  EXPECT_FALSE(MatchesRoute("/streams/*", "/streams/", captures));
  EXPECT_TRUE(MatchesRoute("/", "/", captures));
}

TEST(HttpUrlTest, PutsIpV6IntoBrackets) {
  EXPECT_EQ(UrlHost("127.0.0.1"), "127.0.0.1");
  EXPECT_EQ(UrlHost("::1"), "[::1]");
}

}  // namespace
}  // namespace millrace::service
