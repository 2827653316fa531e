#include "service/web/http_server.h"

#include <atomic>
#include <chrono>
#include <future>
#include <latch>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/service/support/http_client.h"

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

/// One server for all tests: no test changes it.
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

TEST_F(HttpServerTest, AnswersARequestWithABodyWithoutReadingIt) {
  for (const char* rest : {"Content-Length: 0\r\n\r\n", "Content-Length: 4\r\n\r\nbody",
                           "Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n"}) {
    HttpConnection connection(server->port());
    ASSERT_TRUE(connection.Send(std::string("POST /hello HTTP/1.1\r\nHost: x\r\n") + rest));
    EXPECT_EQ(connection.Receive().status, 405) << rest;
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

TEST_F(HttpServerTest, RefusesAnUpgradeInOrdinaryHttp) {
  HttpConnection connection(server->port());
  ASSERT_TRUE(connection.Send(
      "GET /hello HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
      "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: x3JJHMbDL1EzLkh9GBhXDw==\r\n\r\n"));
  const HttpAnswer answer = connection.Receive();
  EXPECT_EQ(answer.status, 200) << "whoever does not upgrade answers as ever (RFC 9110, 7.8)";
  EXPECT_THAT(answer.headers, HasSubstr("Content-Length: 6"));
  EXPECT_EQ(answer.body, "hello\n");
}

TEST_F(HttpServerTest, SaysWhatIsNoRequest) {
  for (const char* text :
       {"nonsense\r\n\r\n", "GET * HTTP/1.1\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "GET /hello HTTP/1.1\r\nno colon\r\n\r\n", "CONNECT localhost:80 HTTP/1.1\r\n\r\n",
        "\x16\x03\x01\x02\r\n\r\n"}) {
    HttpConnection connection(server->port());
    ASSERT_TRUE(connection.Send(text));
    EXPECT_EQ(connection.Receive().status, 400) << text;
  }
}

TEST_F(HttpServerTest, SaysThatAHeaderIsTooLong) {
  HttpConnection connection(server->port());
  ASSERT_TRUE(connection.Send("GET /hello HTTP/1.1\r\nX: " + std::string(100'000, 'x')));
  EXPECT_EQ(connection.Receive().status, 431);
}

TEST_F(HttpServerTest, AnswersAsProxiesAsk) {
  EXPECT_EQ(Get(server->port(), "http://localhost/hello").body, "hello\n");
  EXPECT_EQ(Get(server->port(), "http://localhost").status, 404) << "there is no /";
}

TEST_F(HttpServerTest, ConnectionsThatSayNothingOrLittleKeepNobodyWaiting) {
  std::vector<std::unique_ptr<HttpConnection>> others;
  for (int i = 0; i < 100; ++i) {
    others.push_back(std::make_unique<HttpConnection>(server->port()));
    if (i % 2 == 0) {
      ASSERT_TRUE(others.back()->Send("GET /he"));
    }
  }
  EXPECT_EQ(Get(server->port(), "/hello").status, 200);
}

TEST(BoundedHttpServerTest, EndsWhatDoesNotComeInTime) {
  const auto server =
      HttpServer::Start({.max_reading = std::chrono::milliseconds(50), .routes = SomeRoutes()});
  ASSERT_TRUE(server.ok()) << server.status();
  HttpConnection silent((*server)->port());
  EXPECT_EQ(silent.Receive().status, 0) << "it is closed without a word";
  int status = 0;
  while (status == 0) {  // Where this thread is late itself, the server has heard nothing yet.
    HttpConnection slow((*server)->port());
    static_cast<void>(slow.Send("GET /hello HTT"));
    status = slow.Receive().status;
  }
  EXPECT_EQ(status, 408);
}

TEST(BoundedHttpServerTest, EndsWhatIsNotTakenInTime) {
  ConnectionCounts counts;
  std::promise<void> asked;
  const auto server =
      HttpServer::Start({.max_writing = std::chrono::milliseconds(50),
                         .counts = &counts,
                         .routes = {{"/large", [&asked](const HttpRequest&) {
                                       asked.set_value();
                                       return HttpResponse{.body = std::string(64 << 20, 'x')};
                                     }}}});
  ASSERT_TRUE(server.ok()) << server.status();
  HttpConnection idle((*server)->port());
  ASSERT_TRUE(idle.Send("GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  asked.get_future().wait();
  while (counts.open > 0) std::this_thread::yield();
  EXPECT_LT(idle.Receive().body.size(), 64U << 20);
}

TEST(BoundedHttpServerTest, ClosesTheOldestThatWaitsForANewOne) {
  const auto server =
      HttpServer::Start({.connections = {.in_all = 3, .per_client = 3}, .routes = SomeRoutes()});
  ASSERT_TRUE(server.ok()) << server.status();
  std::vector<std::unique_ptr<HttpConnection>> waiting;
  for (int i = 0; i < 3; ++i) {
    waiting.push_back(std::make_unique<HttpConnection>((*server)->port()));
  }
  EXPECT_EQ(Get((*server)->port(), "/hello").status, 200);
  EXPECT_EQ(waiting[0]->Receive().status, 0) << "it ended";
  EXPECT_EQ(waiting[2]->Ask("GET", "/hello").status, 200) << "it did not";
}

// Each handler holds a thread until the other one has begun.
TEST(BoundedHttpServerTest, HandlersRunBesideEachOther) {
  std::latch both(2);
  const auto server =
      HttpServer::Start({.threads = 2, .routes = {{"/waits", [&both](const HttpRequest&) {
                                                     both.arrive_and_wait();
                                                     return HttpResponse{.body = "both"};
                                                   }}}});
  ASSERT_TRUE(server.ok()) << server.status();
  auto first = std::async(std::launch::async, [&] { return Get((*server)->port(), "/waits"); });
  EXPECT_EQ(Get((*server)->port(), "/waits").body, "both");
  EXPECT_EQ(first.get().body, "both");
}

/// Answers requests of "/waits" when the test allows it, and counts them.
class WaitingHandler {
 public:
  explicit WaitingHandler(int requests) : come_(requests) {}

  HttpRoute Route() {
    return {"/waits", [this](const HttpRequest&) {
              come_.count_down();
              may_answer_.wait();
              return HttpResponse{.body = "late"};
            }};
  }
  void AwaitRequests() { come_.wait(); }
  void Answer() { may_answer_.count_down(); }

 private:
  std::latch come_;
  std::latch may_answer_{1};
};

TEST(BoundedHttpServerTest, RefusesRequestsBeyondItsBoundUntilOthersAreAnswered) {
  WaitingHandler handler(2);
  std::vector<HttpRoute> routes = SomeRoutes();
  routes.push_back(handler.Route());
  const auto server = HttpServer::Start(
      {.threads = 2, .requests = {.in_all = 3, .per_client = 2}, .routes = routes});
  ASSERT_TRUE(server.ok()) << server.status();
  const auto ask = [&] { return Get((*server)->port(), "/waits"); };
  auto first = std::async(std::launch::async, ask);
  auto second = std::async(std::launch::async, ask);
  handler.AwaitRequests();
  const HttpAnswer third = Get((*server)->port(), "/hello");
  handler.Answer();
  EXPECT_EQ(third.status, 503);
  EXPECT_THAT(third.headers, HasSubstr("Retry-After: 1"));
  EXPECT_EQ(first.get().body + second.get().body, "latelate");
  EXPECT_EQ(Get((*server)->port(), "/hello").status, 200);
}

TEST(BoundedHttpServerTest, ProbesAreAnsweredWhileAllOthersWait) {
  WaitingHandler handler(1);
  const auto server = HttpServer::Start(
      {.threads = 1,
       .requests = {.in_all = 1, .per_client = 1},
       .routes = {handler.Route(),
                  {.pattern = "/healthz",
                   .handler = [](const HttpRequest&) { return HttpResponse{.body = "ok\n"}; },
                   .probe = true}}});
  ASSERT_TRUE(server.ok()) << server.status();
  auto late = std::async(std::launch::async, [&] { return Get((*server)->port(), "/waits"); });
  handler.AwaitRequests();
  EXPECT_EQ(Get((*server)->port(), "/healthz").body, "ok\n");
  handler.Answer();
  EXPECT_EQ(late.get().body, "late");
}

TEST(BoundedHttpServerTest, TheOldestAnswerThatIsNotTakenGivesWayToANewOne) {
  constexpr std::size_t kBytes = 32 << 20;
  const auto server =
      HttpServer::Start({.max_untaken_bytes = 2 * kBytes,
                         .routes = {{"/large", [](const HttpRequest&) {
                                       return HttpResponse{.body = std::string(kBytes, 'x')};
                                     }}}});
  ASSERT_TRUE(server.ok()) << server.status();
  std::vector<std::unique_ptr<HttpConnection>> idle;
  for (int i = 0; i < 3; ++i) {
    idle.push_back(std::make_unique<HttpConnection>((*server)->port()));
    ASSERT_TRUE(idle.back()->Send("GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    EXPECT_EQ(idle.back()->ReceiveByte(), 'H') << "its answer is under way";
  }
  EXPECT_LT(idle[0]->Receive().body.size(), kBytes);
  EXPECT_EQ(idle[1]->Receive().body.size(), kBytes);
  EXPECT_EQ(idle[2]->Receive().body.size(), kBytes);
}

TEST(StoppingHttpServerTest, SendsTheAnswersUnderWay) {
  std::promise<void> asked;
  std::promise<void> stopping;
  const auto server = HttpServer::Start(
      {.stop_grace = std::chrono::seconds(60), .routes = {{"/waits", [&](const HttpRequest&) {
                                                             asked.set_value();
                                                             stopping.get_future().wait();
                                                             return HttpResponse{.body = "late"};
                                                           }}}});
  ASSERT_TRUE(server.ok()) << server.status();
  HttpConnection idle((*server)->port());
  auto late = std::async(std::launch::async, [&] { return Get((*server)->port(), "/waits"); });
  asked.get_future().wait();
  (*server)->BeginStop();
  EXPECT_EQ(idle.Receive().status, 0) << "it ended at once";
  stopping.set_value();
  EXPECT_EQ(late.get().body, "late");
}

// The wait gives a server that is wrong the time to be so.
TEST(StoppingHttpServerTest, KeepsTheRouteOfAHandlerThatRunsBeyondTheGrace) {
  std::promise<void> asked;
  std::promise<void> freed;
  const auto freed_by_then = [&freed] {
    return freed.get_future().wait_for(std::chrono::milliseconds(200)) == std::future_status::ready;
  };
  std::atomic<bool> freed_meanwhile = false;
  auto of_route = std::shared_ptr<void>(nullptr, [&](void*) { freed.set_value(); });
  auto server =
      HttpServer::Start({.stop_grace = {}, .routes = {{"/waits", [&, of_route](const HttpRequest&) {
                                                         asked.set_value();
                                                         freed_meanwhile = freed_by_then();
                                                         return HttpResponse{};
                                                       }}}});
  ASSERT_TRUE(server.ok()) << server.status();
  of_route.reset();
  HttpConnection client((*server)->port());
  ASSERT_TRUE(client.Send("GET /waits HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  asked.get_future().wait();
  server->reset();
  EXPECT_FALSE(freed_meanwhile);
}

// The slow clients come first, so that each has a thread before the fast client. Hangs until the
// test's timeout if the server waits for a body.
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
