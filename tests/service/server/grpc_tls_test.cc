// TLS and certificates of clients, at a real server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "grpc/health/v1/health.grpc.pb.h"
#include "millrace/v1/stream_service.grpc.pb.h"
#include "service/server/grpc_credentials.h"
#include "tests/service/support/grpc_fixture.h"
#include "tests/service/support/own_connection.h"
#include "tests/service/support/secret_files.h"

namespace millrace::service {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class GrpcTlsTest : public GrpcFixture {
 protected:
  GrpcTlsTest() {
    files_.MakeAuthority("ca");
    files_.MakeCertificate("server", "ca");
  }

  GrpcSecurity::Tls Tls(const std::string& client_ca = "") const {
    return {.certificate = files_.Path("server.pem"),
            .key = files_.Path("server.key"),
            .client_ca = client_ca.empty() ? "" : files_.Path(client_ca)};
  }

  void Serve(const GrpcSecurity::Tls& tls) {
    auto server = GrpcServer::Start({.security = {.tls = tls}}, Api());
    ASSERT_TRUE(server.ok()) << server.status();
    secure_ = *std::move(server);
  }

  /// A connection of its own that trusts what `authority`.pem signed, and shows `client`.pem.
  std::shared_ptr<grpc::Channel> Connect(const std::string& authority,
                                         const std::string& client = "") const {
    grpc::SslCredentialsOptions options = {
        .pem_root_certs = ReadAll(files_.Path(authority + ".pem")),
        .pem_private_key = {},
        .pem_cert_chain = {}};
    if (!client.empty()) {
      options.pem_private_key = ReadAll(files_.Path(client + ".key"));
      options.pem_cert_chain = ReadAll(files_.Path(client + ".pem"));
    }
    return Connect(grpc::SslCredentials(options));
  }

  std::shared_ptr<grpc::Channel> Connect(
      const std::shared_ptr<grpc::ChannelCredentials>& credentials) const {
    return OwnConnection(secure_->port(), credentials);
  }

  static grpc::StatusCode Ask(const std::shared_ptr<grpc::Channel>& channel) {
    grpc::ClientContext context;
    v1::ListStreamsResponse response;
    return v1::StreamService::NewStub(channel)->ListStreams(&context, {}, &response).error_code();
  }

  /// Puts the certificate of `name` in the place of the server's.
  void InstallCertificate(const std::string& name) const {
    files_.Write("server.pem", ReadAll(files_.Path(name + ".pem")));
  }
  void InstallKey(const std::string& name) const {
    files_.Write("server.key", ReadAll(files_.Path(name + ".key")));
  }

  /// Connects again until `authority` confirms the server's certificate.
  void AwaitTrust(const std::string& authority) const {
    while (Ask(Connect(authority)) != grpc::StatusCode::OK) std::this_thread::yield();
  }

  static std::string Refusal(const GrpcSecurity::Tls& tls) {
    return std::string(CheckTls(tls).message());
  }

  SecretFiles files_;
  std::unique_ptr<GrpcServer> secure_;
};

TEST_F(GrpcTlsTest, OnlyClientsThatSpeakTlsAndTrustItAreServed) {
  files_.MakeAuthority("stranger");
  Serve(Tls());
  EXPECT_EQ(Ask(Connect("ca")), grpc::StatusCode::OK);
  EXPECT_EQ(Ask(Connect("stranger")), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(Ask(Connect(grpc::InsecureChannelCredentials())), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(GrpcTlsTest, WithAnAuthorityForClientsOnlyThoseItSignedAreServed) {
  files_.MakeAuthority("clients");
  files_.MakeCertificate("viewer", "clients");
  Serve(Tls("clients.pem"));
  EXPECT_EQ(Ask(Connect("ca", "viewer")), grpc::StatusCode::OK);
  EXPECT_EQ(Ask(Connect("ca")), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(Ask(Connect("ca", "server")), grpc::StatusCode::UNAVAILABLE) << "signed by another";
}

TEST_F(GrpcTlsTest, ANewCertificateIsTakenWithoutAStartAndWithoutEndingCalls) {
  using grpc::health::v1::Health;
  using grpc::health::v1::HealthCheckResponse;
  files_.MakeAuthority("next");
  files_.MakeCertificate("renewed", "next");
  Serve(Tls());
  const auto channel = Connect("ca");
  grpc::ClientContext context;
  const auto watch = Health::NewStub(channel)->Watch(&context, {});
  HealthCheckResponse response;
  ASSERT_TRUE(watch->Read(&response));

  InstallKey("renewed");
  InstallCertificate("renewed");
  AwaitTrust("next");
  EXPECT_EQ(Ask(Connect("ca")), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(Ask(channel), grpc::StatusCode::OK) << "connected before";

  secure_->Drain();
  ASSERT_TRUE(watch->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::NOT_SERVING);
  context.TryCancel();
  watch->Finish().error_code();
}

TEST_F(GrpcTlsTest, AKeyThatComesBeforeItsCertificateIsOvercome) {
  files_.MakeAuthority("next");
  files_.MakeCertificate("renewed", "next");
  Serve(Tls());
  InstallKey("renewed");
  while (Ask(Connect("ca")) == grpc::StatusCode::OK) std::this_thread::yield();
  InstallCertificate("renewed");
  AwaitTrust("next");
}

TEST_F(GrpcTlsTest, ANewAuthorityForClientsIsTakenWithoutAStart) {
  files_.MakeAuthority("clients");
  files_.MakeAuthority("others");
  files_.MakeCertificate("viewer", "clients");
  files_.MakeCertificate("visitor", "others");
  Serve(Tls("clients.pem"));
  EXPECT_EQ(Ask(Connect("ca", "visitor")), grpc::StatusCode::UNAVAILABLE);
  files_.Write("clients.pem", ReadAll(files_.Path("others.pem")));
  while (Ask(Connect("ca", "visitor")) != grpc::StatusCode::OK) std::this_thread::yield();
  EXPECT_EQ(Ask(Connect("ca", "viewer")), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(GrpcTlsTest, FilesThatAreMissingOrHoldNothingAreNamed) {
  GrpcSecurity::Tls tls = Tls();
  tls.certificate = files_.Path("none.pem");
  EXPECT_EQ(GrpcServer::Start({.security = {.tls = tls}}, Api()).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_THAT(Refusal(tls), AllOf(HasSubstr("listen.tls.certificate: "), HasSubstr("none.pem")));

  const std::string nothing = files_.Write("nothing.pem", "nothing");
  tls.certificate = nothing;
  EXPECT_THAT(Refusal(tls), HasSubstr(nothing + " holds no certificate in PEM"));
  tls = Tls();
  tls.key = nothing;
  EXPECT_THAT(Refusal(tls), HasSubstr(nothing + " holds no private key in PEM"));
  EXPECT_THAT(Refusal(Tls("nothing.pem")),
              HasSubstr("listen.tls.client_ca: " + nothing + " holds no certificate in PEM"));
  EXPECT_THAT(Refusal(Tls("none.pem")), HasSubstr("listen.tls.client_ca: "));
}

TEST_F(GrpcTlsTest, AKeyOfAnotherCertificateIsRefused) {
  GrpcSecurity::Tls tls = Tls();
  tls.key = files_.Path("ca.key");
  const absl::Status status = GrpcServer::Start({.security = {.tls = tls}}, Api()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("is the key of another certificate"));
}

TEST_F(GrpcTlsTest, AKeyThatEverybodyMayReadIsRefused) {
  std::filesystem::permissions(files_.Path("server.key"), std::filesystem::perms(0644));
  EXPECT_THAT(Refusal(Tls()), HasSubstr("chmod 600 " + files_.Path("server.key")));
}

TEST_F(GrpcTlsTest, ACertificateThatHasExpiredIsRefused) {
  files_.MakeCertificate("server", "ca", /*days=*/-1);
  EXPECT_THAT(Refusal(Tls()), HasSubstr("server.pem has expired"));
}

TEST_F(GrpcTlsTest, AnAuthorityOfClientsThatHasExpiredIsRefused) {
  files_.MakeCertificate("late", "ca", /*days=*/-1);
  const std::string late = ReadAll(files_.Path("late.pem"));
  EXPECT_THAT(Refusal(Tls("late.pem")),
              AllOf(HasSubstr("listen.tls.client_ca: "), HasSubstr("late.pem has expired")));
  files_.Write("clients.pem", late + late);
  EXPECT_THAT(Refusal(Tls("clients.pem")),
              HasSubstr("clients.pem holds certificates that have all expired"));
  files_.Write("clients.pem", late + ReadAll(files_.Path("ca.pem")));
  Serve(Tls("clients.pem"));
}

}  // namespace
}  // namespace millrace::service
