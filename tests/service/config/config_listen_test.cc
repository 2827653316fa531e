#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "service/config/config.h"

namespace millrace::service {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<Config> Parse(std::string_view listen) {
  return ParseConfig(absl::StrCat("version: 1\nstreams: [{name: a, source: {uri: 'test:'}}]\n",
                                  "listen: ", std::string(listen)),
                     "c");
}

std::string Refusal(std::string_view listen) {
  return std::string(Parse(listen).status().message());
}

TEST(ConfigListenTest, ByDefaultItIsPlainTextOnThisMachineAndControlledFromIt) {
  const auto config = Parse("{}");
  ASSERT_TRUE(config.ok()) << config.status();
  const GrpcSecurity& security = config->listen.security;
  EXPECT_FALSE(security.tls.on());
  EXPECT_EQ(security.tokens_file, "");
  EXPECT_EQ(security.control, ControlFrom::kLoopback);
  EXPECT_EQ(Describe(security), "plain text, control from this machine only");
}

TEST(ConfigListenTest, EveryKeyIsRead) {
  const auto config = Parse(
      "{address: 0.0.0.0, tls: {certificate: s.pem, key: s.key, client_ca: ca.pem}, "
      "tokens_file: tokens, control: on, grpc_port: 1, http_port: 2, metrics_port: 3, "
      "max_viewers: 4, connection_age_s: 5}");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->listen.address, "0.0.0.0");
  EXPECT_EQ(config->listen.grpc_port, 1);
  EXPECT_EQ(config->listen.http_port, 2);
  EXPECT_EQ(config->listen.metrics_port, 3);
  EXPECT_EQ(config->listen.max_viewers, 4);
  EXPECT_EQ(config->listen.connection_age_s, 5);
  const GrpcSecurity& security = config->listen.security;
  EXPECT_EQ(security.tls.certificate, "s.pem");
  EXPECT_EQ(security.tls.key, "s.key");
  EXPECT_EQ(security.tls.client_ca, "ca.pem");
  EXPECT_EQ(security.tokens_file, "tokens");
  EXPECT_EQ(security.control, ControlFrom::kAnywhere);
  EXPECT_EQ(Describe(security), "TLS, client certificates, tokens, control from anywhere");
  EXPECT_EQ(Parse("{control: off}")->listen.security.control, ControlFrom::kNowhere);
}

TEST(ConfigListenTest, PlainTextBeyondThisMachineMustBeAskedFor) {
  for (const char* const address : {"0.0.0.0", "'::'", "192.0.2.1"}) {
    EXPECT_THAT(Refusal(absl::StrCat("{address: ", address, "}")),
                HasSubstr("add `tls`, or `allow_plain_text: true` in a network that you trust"))
        << address;
    EXPECT_TRUE(Parse(absl::StrCat("{address: ", address, ", allow_plain_text: true}")).ok());
    EXPECT_TRUE(
        Parse(absl::StrCat("{address: ", address, ", tls: {certificate: a, key: b}}")).ok());
  }
  for (const char* const address : {"127.0.0.1", "127.1.2.3", "'::1'"}) {
    EXPECT_TRUE(Parse(absl::StrCat("{address: ", address, "}")).ok()) << address;
  }
}

TEST(ConfigListenTest, PageAndMetricsStayOnThisMachineUntilPlainTextIsAskedFor) {
  const auto web_address = [](std::string_view listen) {
    const absl::StatusOr<Config> config = Parse(listen);
    return config.ok() ? config->listen.web_address() : std::string(config.status().message());
  };
  EXPECT_EQ(web_address("{}"), "127.0.0.1");
  EXPECT_EQ(web_address("{address: 127.1.2.3}"), "127.1.2.3");
  EXPECT_EQ(web_address("{address: '::1'}"), "::1");
  EXPECT_EQ(web_address("{address: '::', allow_plain_text: true}"), "::");
  for (const char* const address : {"0.0.0.0", "'::'", "192.0.2.1"}) {
    const std::string tls = absl::StrCat("{address: ", address, ", tls: {certificate: a, key: b}");
    EXPECT_EQ(web_address(absl::StrCat(tls, "}")), "127.0.0.1") << address;
    EXPECT_EQ(web_address(absl::StrCat(tls, ", allow_plain_text: false}")), "127.0.0.1") << address;
  }
  EXPECT_EQ(web_address("{address: 0.0.0.0, tls: {certificate: a, key: b}, tokens_file: t, "
                        "allow_plain_text: true}"),
            "0.0.0.0");
}

TEST(ConfigListenTest, TokensNeverGoInPlainTextBeyondThisMachine) {
  EXPECT_EQ(Refusal("{address: 0.0.0.0, tokens_file: t, allow_plain_text: true}"),
            "c:3:41: 'tokens_file' needs `tls` beside it: tokens must not leave this machine in "
            "plain text");
  EXPECT_TRUE(Parse("{tokens_file: t}").ok());
}

TEST(ConfigListenTest, HalfOfTlsIsNone) {
  EXPECT_EQ(Refusal("{address: 0.0.0.0, tls: {certificate: s.pem}}"),
            "c:3:33: 'tls' has no key 'key', which it needs");
  EXPECT_THAT(Refusal("{tls: {client_ca: ca.pem}}"), HasSubstr("has no key 'certificate'"));
  EXPECT_EQ(Refusal("{control: yes}"),
            "c:3:19: 'control' is 'yes'; it must be one of off, loopback, on");
}

}  // namespace
}  // namespace millrace::service
