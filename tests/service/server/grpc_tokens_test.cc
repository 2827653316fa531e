// Tokens and roles, at a real server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <sstream>

#include "absl/strings/match.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "millrace/v1/prediction_service.grpc.pb.h"
#include "millrace/v1/stream_service.grpc.pb.h"
#include "service/access/admission.h"
#include "service/metrics/log_limit.h"
#include "spdlog/sinks/ostream_sink.h"
#include "spdlog/spdlog.h"
#include "tests/service/support/grpc_fixture.h"
#include "tests/service/support/raw_calls.h"
#include "tests/service/support/secret_files.h"

namespace millrace::service {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

constexpr char kView[] = "view-0123456789abcdef";
constexpr char kControl[] = "control-0123456789abcdef";

class GrpcTokensTest : public GrpcFixture {
 protected:
  GrpcTokensTest() {
    const std::string tokens =
        files_.Write("tokens", absl::StrCat("view ", kView, "\ncontrol ", kControl, "\n"));
    auto server = GrpcServer::Start({.security = {.tokens_file = tokens}}, Api());
    MILLRACE_CHECK(server.ok());
    guarded_ = *std::move(server);
    channel_ = grpc::CreateChannel(absl::StrCat("127.0.0.1:", guarded_->port()),
                                   grpc::InsecureChannelCredentials());
  }

  grpc::Status Call(const std::string& method, const std::string& token = "",
                    const std::string& request = "") {
    grpc::ClientContext context;
    if (!token.empty()) context.AddMetadata("authorization", "Bearer " + token);
    return CallRaw(channel_, method, context, request);
  }

  [[nodiscard]] std::vector<std::string> Methods() const {
    std::vector<std::string> methods;
    for (const auto* method : ListMethods(channel_)) methods.push_back(NameOf(*method));
    return methods;
  }

  SecretFiles files_;
  std::unique_ptr<GrpcServer> guarded_;
};

TEST_F(GrpcTokensTest, NoMethodIsServedWithoutAToken) {
  const std::vector<std::string> methods = Methods();
  EXPECT_GE(methods.size(), 29u);
  for (const std::string& method : methods) {
    EXPECT_EQ(Call(method).error_code(), grpc::StatusCode::UNAUTHENTICATED) << method;
    EXPECT_EQ(Call(method, "wrong-0123456789abcdef").error_code(),
              grpc::StatusCode::UNAUTHENTICATED)
        << method;
  }
}

// Messages of any type may take far more memory than their bytes.
TEST_F(GrpcTokensTest, NothingIsParsedForWhoIsNotAdmitted) {
  const std::string no_message = "\x0a\xff\xff\xff\xff\x0f";  // Longer than it is.
  for (const std::string& method : Methods()) {
    EXPECT_EQ(Call(method, "", no_message).error_code(), grpc::StatusCode::UNAUTHENTICATED)
        << method;
    EXPECT_EQ(Call(method, kControl, no_message).error_code(), grpc::StatusCode::INVALID_ARGUMENT)
        << method;
  }
}

TEST_F(GrpcTokensTest, NoMethodOfControlIsServedToWhoMayOnlyView) {
  int methods_of_control = 0;
  for (const std::string& method : Methods()) {
    if (OnlyViews(method)) continue;
    ++methods_of_control;
    const grpc::Status refused = Call(method, kView);
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::PERMISSION_DENIED) << method;
    EXPECT_THAT(refused.error_message(), HasSubstr(method));
  }
  EXPECT_GE(methods_of_control, 1);
}

TEST_F(GrpcTokensTest, OnlyHealthAndReflectionAreForEverybody) {
  std::vector<std::string> others;
  for (const std::string& name : ListServices(channel_)) {
    const bool ours = absl::StartsWith(name, "millrace.") || absl::StartsWith(name, "inference.");
    if (!ours) others.push_back(name);
  }
  EXPECT_THAT(others, UnorderedElementsAre("grpc.health.v1.Health",
                                           "grpc.reflection.v1alpha.ServerReflection"));
  EXPECT_TRUE(Call("grpc.health.v1.Health/Check").ok());
  EXPECT_TRUE(Call("grpc.health.v1.Health/List").ok());
}

TEST_F(GrpcTokensTest, WithItsTokenAClientIsServed) {
  const std::string look = "millrace.v1.StreamService/ListStreams";
  EXPECT_TRUE(Call(look, kView).ok());
  EXPECT_TRUE(Call(look, kControl).ok());
  // It reached the service, which knows no stream without a name.
  EXPECT_EQ(Call("millrace.v1.LabelService/AddLabels", kControl).error_code(),
            grpc::StatusCode::NOT_FOUND);
}

TEST_F(GrpcTokensTest, ATokenThatIsTakenAwayEndsWhatItAllowed) {
  const std::string look = "millrace.v1.StreamService/ListStreams";
  ASSERT_TRUE(Call(look, kView).ok());
  files_.Write("tokens", "view another-0123456789abcdef\n");
  EXPECT_EQ(Call(look, kView).error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_TRUE(Call(look, "another-0123456789abcdef").ok());
}

TEST_F(GrpcTokensTest, ASubscriberIsServedWithItsTokenOnly) {
  const auto stub = v1::PredictionService::NewStub(channel_);
  v1::SubscribeRequest request;
  request.set_stream("street");
  v1::SubscribeResponse response;
  {
    grpc::ClientContext context;
    const auto refused = stub->Subscribe(&context, request);
    EXPECT_FALSE(refused->Read(&response));
    EXPECT_EQ(refused->Finish().error_code(), grpc::StatusCode::UNAUTHENTICATED);
  }
  grpc::ClientContext context;
  context.AddMetadata("authorization", absl::StrCat("Bearer ", kView));
  const auto reader = stub->Subscribe(&context, request);
  reader->WaitForInitialMetadata();
  Film(street_, 2);
  EXPECT_TRUE(reader->Read(&response));
  context.TryCancel();
  reader->Finish().error_code();
}

// Thousands left no trace.
TEST_F(GrpcTokensTest, WrongTokensLeaveOneLineASecondWithTheAddressAndWithoutThem) {
  std::ostringstream log;
  FakeClock clock;
  LogCounts counts;
  const auto before = spdlog::default_logger();
  const auto limit = std::make_shared<LogLimit>(
      LogLimit::Options{.to = std::make_shared<spdlog::sinks::ostream_sink_mt>(log),
                        .counts = &counts,
                        .clock = &clock});
  limit->set_pattern("%l %v");
  spdlog::set_default_logger(std::make_shared<spdlog::logger>("here", limit));
  const auto admission = Admission::Make({.tokens_file = files_.Path("tokens")});
  for (int i = 0; i < 2000; ++i) {
    const std::string token = absl::StrCat("Bearer guess-", 1'000'000 + i, "-0123456789");
    const std::string peer = absl::StrCat("ipv4:192.0.2.7:", 40'000 + i);
    EXPECT_EQ((*admission)->Admit({.method = "a/b", .peer = peer, .authorization = {token}}).code(),
              absl::StatusCode::kUnauthenticated);
  }
  clock.Advance(std::chrono::seconds(1));
  limit->flush();
  spdlog::set_default_logger(before);
  EXPECT_EQ(log.str(),
            "warning a call with an unknown token was refused; it came from "
            "192.0.2.7\n"
            "warning a call with an unknown token was refused; it came from "
            "192.0.2.7 ... and 1998 more like it\n");
  EXPECT_EQ(counts.of(spdlog::level::warn), 2000U);
}

TEST_F(GrpcTokensTest, ABadFileOfTokensIsNamedAtTheStart) {
  const std::string bad = files_.Write("bad", "view short\n");
  const absl::Status status = GrpcServer::Start({.security = {.tokens_file = bad}}, Api()).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr(bad + ":1: the token is shorter"));
}

}  // namespace
}  // namespace millrace::service
