// The messages of `millrace watch` without a connection. gRPC's own messages are those of version
// 1.51.
#include "service/commands/watch/watch_failure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace millrace::service {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const WatchSecurity kPlain = {};
const WatchSecurity kTls = {.tls = true};
const WatchSecurity kOwnAuthority = {.ca_file = "ca.pem"};

std::string NoConnection(const std::string& cause, const WatchSecurity& security) {
  return FailureInWords(
      absl::UnavailableError(absl::StrCat("failed to connect to all addresses; last error: ",
                                          "UNKNOWN: ipv4:127.0.0.1:50051: ", cause)),
      security);
}

std::string Handshake(const std::string& reason, const WatchSecurity& security) {
  return NoConnection("Ssl handshake failed: SSL_ERROR_SSL: error:0A000086:SSL routines::" + reason,
                      security);
}

TEST(WatchFailureTest, NothingThatListensIsAServerThatDoesNotRun) {
  EXPECT_EQ(NoConnection("Failed to connect to remote host: Connection refused", kPlain),
            "nothing listens there; does `millrace serve` run there?");
}

TEST(WatchFailureTest, PlainTextToTlsNamesTheOptionsOfTls) {
  EXPECT_EQ(
      NoConnection("Socket closed", kPlain),
      "the server ended the connection at once; if it speaks TLS, add --tls, or --ca FILE with "
      "the certificate authority");
  EXPECT_EQ(NoConnection("recvmsg:Connection reset by peer", kPlain),
            NoConnection("Socket closed", kPlain));
}

TEST(WatchFailureTest, TlsToPlainTextSaysWhichOptionsToLeaveOut) {
  EXPECT_EQ(Handshake("wrong version number", kTls),
            "the server does not speak TLS; leave out --tls, --ca, --certificate and --key");
}

TEST(WatchFailureTest, AServerThatIsNotTrustedIsToldFromOneThatIsAway) {
  EXPECT_EQ(Handshake("certificate verify failed", kTls),
            "this machine does not trust the server's certificate, or it has expired; name the "
            "certificate of its authority with --ca FILE");
  EXPECT_EQ(Handshake("certificate verify failed", kOwnAuthority),
            "none of the certificates in --ca ca.pem has signed the server's, or it has expired; "
            "name the certificate of its authority");
}

TEST(WatchFailureTest, ANameThatTheCertificateHasNotIsSaid) {
  EXPECT_EQ(NoConnection("Peer name 127.0.0.1 is not in peer certificate", kOwnAuthority),
            "the server's certificate is not for the name '127.0.0.1'; give one of its names with "
            "--server-name NAME");
}

TEST(WatchFailureTest, AServerThatWantsACertificateDoesNotSaySo) {
  EXPECT_THAT(NoConnection("Socket closed", kOwnAuthority),
              HasSubstr("add --certificate FILE --key FILE"));
  EXPECT_THAT(
      NoConnection("Socket closed",
                   {.ca_file = "ca.pem", .certificate_file = "me.pem", .key_file = "me.key"}),
      HasSubstr("does it trust --certificate me.pem?"));
}

TEST(WatchFailureTest, OfAnythingElseBothAreNamed) {
  EXPECT_THAT(NoConnection("Failed to connect to remote host: No route to host", kPlain),
              AllOf(HasSubstr("no connection: no route to host"),
                    HasSubstr("does `millrace serve` run there?"), HasSubstr("--tls"),
                    Not(HasSubstr("UNKNOWN"))));
}

TEST(WatchFailureTest, AWrongTokenNamesTheOptionThatShowsOne) {
  EXPECT_EQ(FailureInWords(absl::UnauthenticatedError("send the metadata"), kPlain),
            "the server wants a token; name the file that holds one with --token-file FILE");
  EXPECT_EQ(FailureInWords(absl::UnauthenticatedError("the token is none of this server's"),
                           {.token_file = "token.txt"}),
            "the token is none of this server's; it is that of --token-file token.txt");
}

// gRPC looked for a host "http" in DNS, or knocked at port 443.
TEST(WatchChannelTest, AnAddressIsAHostAndAPort) {
  const auto refusal = [](const std::string& address) {
    return std::string(OpenWatchChannel(address, kPlain).status().message());
  };
  EXPECT_EQ(refusal("http://127.0.0.1:28851"),
            "'http://127.0.0.1:28851': leave out http://, and write HOST:PORT, as 127.0.0.1:50051");
  for (const char* const address :
       {"127.0.0.1", "camera-box", "::1", "[::1]", "box:", "box:grpc", ""}) {
    EXPECT_EQ(refusal(address), absl::StrCat("'", address,
                                             "' has no port; write HOST:PORT, as "
                                             "127.0.0.1:50051 or [::1]:50051"));
  }
  for (const char* const address :
       {"127.0.0.1:1", "box:50051", "[::1]:50051", "unix:/run/millrace.sock", "dns:///box:50051"}) {
    EXPECT_EQ(refusal(address), "");
  }
}

TEST(WatchFailureTest, WhatTheServerSaysStaysAsItIs) {
  EXPECT_EQ(FailureInWords(absl::NotFoundError("there is no stream 'gate'"), kTls),
            "there is no stream 'gate'");
}

}  // namespace
}  // namespace millrace::service
