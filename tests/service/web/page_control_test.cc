#include "service/web/page_control.h"

#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/ingest/support/logged.h"
#include "tests/service/support/borrowed_streams.h"
#include "tests/service/support/secret_files.h"
#include "tests/service/support/web_fakes.h"

namespace millrace::service {
namespace {

using ::testing::HasSubstr;

constexpr char kHere[] = "127.0.0.1";
constexpr char kThere[] = "192.0.2.7";

class PageControlTest : public ::testing::Test {
 protected:
  PageControlTest() { Use({}); }

  void Use(const GrpcSecurity& security) {
    auto admission = Admission::Make(security);
    ASSERT_TRUE(admission.ok()) << admission.status();
    admission_ = *std::move(admission);
    control_ = std::make_unique<PageControl>(streams_, *admission_, security);
  }
  void UseTokens() {
    Use({.tokens_file =
             files_.Write("tokens", "view looks-0123456789\ncontrol changes-0123456789\n")});
  }

  HttpResponse Press(const std::string& action, const std::string& from = kHere,
                     std::map<std::string, std::string> headers = {{"host", "127.0.0.1:8080"}}) {
    const std::size_t query = action.find('?');
    return Dispatch(control_->Routes(),
                    {.path = "/api/streams/street/" + action.substr(0, query),
                     .query = query == std::string::npos ? "" : action.substr(query + 1),
                     .remote_address = from,
                     .method = "POST",
                     .headers = std::move(headers)});
  }
  static std::map<std::string, std::string> With(const std::string& token) {
    return {{"host", "127.0.0.1:8080"}, {"authorization", "Bearer " + token}};
  }
  LearnerState mode() const { return stream_.Snapshot().learner_state; }

  FakeClock clock_;
  FakeCameraStream stream_{"street"};
  StreamRecord record_{clock_, clock_.Now()};
  BorrowedStreams streams_ = {{stream_, record_}};
  SecretFiles files_;
  std::unique_ptr<Admission> admission_;
  std::unique_ptr<PageControl> control_;
};

TEST_F(PageControlTest, PausesFreezesAndResumes) {
  const ingest::Logged logged;
  EXPECT_EQ(Press("pause").body, R"({"learner":"paused"})");
  EXPECT_EQ(mode(), LearnerState::kPaused);
  EXPECT_EQ(Press("freeze").status, 200);
  EXPECT_EQ(mode(), LearnerState::kFrozen);
  EXPECT_EQ(Press("resume").status, 200);
  EXPECT_EQ(mode(), LearnerState::kLearning);
  EXPECT_THAT(logged.text(),
              HasSubstr("a client at 127.0.0.1 has set the learner from learning to paused\n"));
}

TEST_F(PageControlTest, SetsTheLearningRate) {
  EXPECT_EQ(Press("learning_rate?value=0.25").body, R"({"learning_rate":0.25})");
  EXPECT_EQ(stream_.Snapshot().learning_rate, 0.25);
  for (const char* wrong : {"learning_rate", "learning_rate?value=", "learning_rate?value=-1",
                            "learning_rate?value=nan", "learning_rate?value=2"}) {
    const HttpResponse refused = Press(wrong);
    EXPECT_EQ(refused.status, 400) << wrong;
    EXPECT_THAT(refused.body, HasSubstr("from 0 to 1"));
  }
  EXPECT_EQ(stream_.Snapshot().learning_rate, 0.25);
}

TEST_F(PageControlTest, NamesTheCheckpointThatItTook) {
  EXPECT_EQ(Press("checkpoint").body, R"({"written":"000000000405"})");
  EXPECT_EQ(control_->CheckpointOf(*streams_.All()[0])["written"], "000000000405");
}

TEST_F(PageControlTest, ACheckpointIsWaitedForByNoThreadAndAskedForOnce) {
  std::vector<OnCheckpoint> asked;
  stream_.OnAskedForACheckpoint([&asked](OnCheckpoint done) { asked.push_back(std::move(done)); });
  EXPECT_EQ(Press("checkpoint").body, R"({"waiting":true})");
  EXPECT_EQ(Press("checkpoint").body, R"({"waiting":true})");
  ASSERT_EQ(asked.size(), 1U);
  const SharedStream served = streams_.All()[0];
  asked[0](absl::FailedPreconditionError("the learner was paused"));
  EXPECT_EQ(control_->CheckpointOf(*served)["error"], "the learner was paused");
  EXPECT_EQ(Press("checkpoint").body, R"({"waiting":true})");
  control_.reset();  // The server ends first.
  ASSERT_EQ(asked.size(), 2U);
  asked[1]("000000000406");
}

TEST_F(PageControlTest, WhereAskingForACheckpointFailsNobodyWaitsForIt) {
  bool fails = true;
  stream_.OnAskedForACheckpoint([&fails](const OnCheckpoint& done) {
    if (fails) throw std::runtime_error("no thread is left");
    done("000000000407");
  });
  EXPECT_EQ(Press("checkpoint").status, 500);
  EXPECT_TRUE(control_->CheckpointOf(*streams_.All()[0]).is_null());
  fails = false;
  EXPECT_EQ(Press("checkpoint").body, R"({"written":"000000000407"})");
}

TEST_F(PageControlTest, ChangesNothingForWhoOnlyGets) {
  const HttpResponse refused =
      Dispatch(control_->Routes(), {.path = "/api/streams/street/pause", .remote_address = kHere});
  EXPECT_EQ(refused.status, 405);
  EXPECT_EQ(mode(), LearnerState::kLearning);
}

TEST_F(PageControlTest, SaysThatThereIsNoSuchStream) {
  const HttpResponse refused =
      Dispatch(control_->Routes(), {.path = "/api/streams/yard/pause",
                                    .remote_address = kHere,
                                    .method = "POST",
                                    .headers = {{"host", "localhost:8080"}}});
  EXPECT_EQ(refused.status, 404);
  EXPECT_THAT(refused.body, HasSubstr("street"));
}

TEST_F(PageControlTest, FollowsTheConfigurationsWordOnWhoControls) {
  EXPECT_EQ(Press("pause", kThere).status, 403);
  EXPECT_EQ(Press("pause", "::1").status, 200);
  Use({.control = ControlFrom::kNowhere});
  EXPECT_THAT(Press("freeze").body, HasSubstr("listen.control is off"));
  EXPECT_EQ(mode(), LearnerState::kPaused);
  Use({.control = ControlFrom::kAnywhere});
  EXPECT_EQ(Press("resume", kThere).status, 200);
}

TEST_F(PageControlTest, AnotherSitesPageCannotPressButtons) {
  for (const char* origin : {"https://evil.example", "http://evil.example", "null",
                             "http://127.0.0.1:9999", "https://127.0.0.1:8080"}) {
    EXPECT_EQ(Press("pause", kHere, {{"host", "127.0.0.1:8080"}, {"origin", origin}}).status, 403)
        << origin;
  }
  // A name of somebody else's that stands for this machine.
  for (const char* host : {"evil.example:8080", "evil.example", "127.0.0.1.evil.example", ""}) {
    const std::string origin = std::string("http://") + host;
    EXPECT_EQ(Press("pause", kHere, {{"host", host}, {"origin", origin}}).status, 403) << host;
  }
  EXPECT_EQ(mode(), LearnerState::kLearning);
  for (const char* host : {"127.0.0.1:8080", "localhost:8080", "[::1]:8080", "127.0.0.1"}) {
    const std::string origin = std::string("http://") + host;
    EXPECT_EQ(Press("pause", kHere, {{"host", host}, {"origin", origin}}).status, 200) << host;
  }
}

TEST_F(PageControlTest, NobodyElsePressesThemThroughAProxyOnThisMachine) {
  for (const char* header : {"forwarded", "via", "x-real-ip", "x-forwarded-for", "x-forwarded-host",
                             "x-forwarded-proto"}) {
    const HttpResponse refused =
        Press("pause", kHere, {{"host", "127.0.0.1:8080"}, {header, "192.0.2.7"}});
    EXPECT_EQ(refused.status, 403) << header;
    EXPECT_THAT(refused.body, HasSubstr("need a token")) << header;
  }
  EXPECT_EQ(mode(), LearnerState::kLearning);
  UseTokens();
  std::map<std::string, std::string> headers = With("changes-0123456789");
  headers["x-forwarded-for"] = kThere;
  EXPECT_EQ(Press("pause", kHere, headers).status, 200);
}

TEST_F(PageControlTest, WithATokenAProxyMaySpeakTlsUnderAName) {
  const std::map<std::string, std::string> proxied = {{"host", "door.example"},
                                                      {"origin", "https://door.example"}};
  EXPECT_EQ(Press("pause", kHere, proxied).status, 403);
  UseTokens();
  std::map<std::string, std::string> headers = proxied;
  EXPECT_EQ(Press("pause", kHere, headers).status, 401);
  headers["authorization"] = "Bearer changes-0123456789";
  EXPECT_EQ(Press("pause", kHere, headers).status, 200);
  EXPECT_EQ(mode(), LearnerState::kPaused);
  headers["origin"] = "https://evil.example";
  EXPECT_EQ(Press("resume", kHere, headers).status, 403);
  headers["host"] = "127.0.0.1:8080";  // A proxy that keeps the name to itself.
  headers["origin"] = "https://door.example";
  EXPECT_THAT(Press("resume", kHere, headers).body, HasSubstr("passes the Host on"));
  EXPECT_EQ(mode(), LearnerState::kPaused);
}

// As where a policy of the other page keeps the browser from saying an origin.
TEST_F(PageControlTest, RefusesAnotherSiteThatSaysNoOrigin) {
  for (const char* site : {"cross-site", "same-site"}) {
    EXPECT_EQ(Press("pause", kHere, {{"host", "127.0.0.1:8080"}, {"sec-fetch-site", site}}).status,
              403)
        << site;
  }
  EXPECT_EQ(mode(), LearnerState::kLearning);
  for (const char* site : {"same-origin", "none"}) {
    EXPECT_EQ(Press("pause", kHere, {{"host", "127.0.0.1:8080"}, {"sec-fetch-site", site}}).status,
              200)
        << site;
  }
}

// The page's own GET says no origin: what it is told must be what a press will meet.
TEST_F(PageControlTest, TellsAGetWhatAPressWillMeet) {
  const auto may = [this](const std::string& host, const std::string& referer) {
    return control_->Admit({.path = "/api/streams",
                            .remote_address = kHere,
                            .headers = {{"host", host}, {"referer", referer}}});
  };
  EXPECT_TRUE(may("127.0.0.1:8080", "http://127.0.0.1:8080/").ok());
  EXPECT_TRUE(may("127.0.0.1:8080", "").ok());
  EXPECT_TRUE(absl::IsPermissionDenied(may("127.0.0.1:8080", "https://door.example/")));
  EXPECT_TRUE(absl::IsPermissionDenied(may("127.0.0.1:8080", "https://door.example")));
  UseTokens();
  EXPECT_TRUE(absl::IsUnauthenticated(may("door.example", "https://door.example/")));
  EXPECT_TRUE(absl::IsPermissionDenied(may("127.0.0.1:8080", "https://door.example/")));
}

TEST_F(PageControlTest, SaysWhereATokenMayHelp) {
  const auto takes_one = [this](const std::string& from) {
    return control_->TakesToken(
        {.path = "/api/streams", .remote_address = from, .headers = With("looks-0123456789")});
  };
  EXPECT_FALSE(takes_one(kHere)) << "there are none";
  UseTokens();
  EXPECT_TRUE(takes_one(kHere)) << "that one may only look";
  EXPECT_FALSE(takes_one(kThere)) << "none may cross a network";
  Use({.tokens_file = files_.Write("tokens", "control changes-0123456789\n"),
       .control = ControlFrom::kNowhere});
  EXPECT_FALSE(takes_one(kHere)) << "nobody may";
}

TEST_F(PageControlTest, AsksForATokenThatMayControl) {
  UseTokens();
  EXPECT_EQ(Press("pause").status, 401);
  EXPECT_EQ(Press("pause", kHere, With("guessed-0123456789")).status, 401);
  EXPECT_EQ(Press("pause", kHere, With("looks-0123456789")).status, 403);
  EXPECT_EQ(mode(), LearnerState::kLearning);
  EXPECT_EQ(Press("pause", kHere, With("changes-0123456789")).status, 200);
  EXPECT_EQ(mode(), LearnerState::kPaused);
}

TEST_F(PageControlTest, OpensNothingThatGrpcProtects) {
  const GrpcSecurity::Tls tls = {.certificate = "server.pem", .key = "server.key", .client_ca = ""};
  Use({.tls = tls, .control = ControlFrom::kAnywhere});
  EXPECT_THAT(Press("pause", kThere).body, HasSubstr("plain text"));
  EXPECT_EQ(Press("pause").status, 200);
  GrpcSecurity::Tls mutual = tls;
  mutual.client_ca = "clients.pem";
  Use({.tls = mutual, .control = ControlFrom::kAnywhere});
  for (const char* const from : {kHere, kThere}) {
    EXPECT_THAT(Press("resume", from).body, HasSubstr("wants certificates")) << from;
  }
  EXPECT_EQ(mode(), LearnerState::kPaused);
}

TEST_F(PageControlTest, TakesNoTokenThatCrossedANetwork) {
  UseTokens();
  const HttpResponse refused = Press("pause", kThere, With("changes-0123456789"));
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.body, HasSubstr("plain text"));
}

}  // namespace
}  // namespace millrace::service
