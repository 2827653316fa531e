#include "service/registry/client_sources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace millrace::service {
namespace {

using ::testing::HasSubstr;

StreamConfig Of(const std::string& uri, const std::string& entry = "{}") {
  StreamConfig config;
  config.source.uri = uri;
  config.entry = entry;
  return config;
}

TEST(AllowedForClientsTest, HostsAreMatchedByTheirPatterns) {
  const ClientSources rules = {.hosts = {"10.0.0.*", "*.example.org", "::1", "fd00::/8"}};
  for (const char* uri :
       {"rtsp://10.0.0.7/1", "rtsp://me:p@10.0.0.7:8554/1", "rtsps://Gate.Example.org/a@b",
        "rtsp://[::1]:554/1", "rtsp://[fd00::7]/1", "rtsp://a@evil@10.0.0.7/1", "test:ball"}) {
    EXPECT_TRUE(AllowedForClients(Of(uri), rules, "{}").ok()) << uri;
  }
  for (const char* uri :
       {"rtsp://10.0.1.7/1", "rtsp://example.org/1", "rtsp://evil/10.0.0.7",
        "rtsp://10.0.0.7@evil/1", "rtsp://10.0.0.evil.example/1", "rtsp://evil?10.0.0.7",
        "rtsp://[::2]/1", "rtsp:x10.0.0.7/1", "rtsp://10.0.0.7#@evil/1", "rtsp://a@10.0.0.7@evil/1",
        "rtsp://10.0.0.7\\@evil/1"}) {
    const absl::Status status = AllowedForClients(Of(uri), rules, "{}");
    EXPECT_TRUE(absl::IsPermissionDenied(status)) << uri;
    EXPECT_THAT(std::string(status.message()), HasSubstr("client_sources.hosts")) << uri;
  }
}

TEST(AllowedForClientsTest, ASourceThatTheStreamHasAlreadyMayStay) {
  const std::string entry = R"({"source":{"uri":"street.avi"}})";
  EXPECT_TRUE(
      absl::IsPermissionDenied(AllowedForClients(Of("street.avi", entry), ClientSources(), "{}")));
  EXPECT_TRUE(AllowedForClients(Of("street.avi", entry), ClientSources(), entry).ok());
}

TEST(AllowedForClientsTest, FilesThatTheStreamHasAlreadyMayStay) {
  const std::string entry = R"({"model":{"weights":"w.bin"}})";
  const StreamConfig config = Of("test:ball", entry);
  EXPECT_TRUE(absl::IsPermissionDenied(AllowedForClients(config, ClientSources(), "{}")));
  EXPECT_TRUE(AllowedForClients(config, ClientSources(), entry).ok());
  EXPECT_TRUE(AllowedForClients(config, {.files = true}, "{}").ok());
  EXPECT_TRUE(absl::IsPermissionDenied(AllowedForClients(
      Of("test:ball", R"({"model":{"network":"mine.pt"}})"), ClientSources(), entry)));
}

constexpr char kCamera[] = "rtsps://camera:8322/1";

/// The entry of a stream at `uri`, with `more` keys of its source.
std::string Entry(const std::string& uri, const std::string& more = "") {
  return absl::StrCat(R"({"name":"gate","source":{"uri":")", uri, R"(")", more, "}}");
}

/// The answer to a client that changes a stream from `before` to `after`.
absl::Status Changed(const std::string& before, const std::string& after,
                     const ClientSources& rules = {}) {
  const absl::StatusOr<StreamConfig> config = ParseStreamEntry(after, "config", StreamConfig());
  EXPECT_TRUE(config.ok()) << config.status();
  return config.ok() ? AllowedForClients(*config, rules, before) : config.status();
}

// A client that may change a stream may not learn its password.
TEST(AllowedForClientsTest, APasswordThatStaysGoesNowhereElse) {
  for (const std::string password :
       {R"(,"user":"me","password_file":"/keys/gate")", R"(,"user":"me","password_env":"GATE")"}) {
    const std::string before = Entry(kCamera, password);
    for (const std::string& after :
         {Entry("rtsps://evil:8322/1", password), Entry("rtsps://camera.evil:8322/1", password),
          Entry("rtsps://camera:8323/1", password), Entry("rtsps://camera/1", password),
          Entry("rtsp://camera:8322/1", password),
          Entry(kCamera, password + R"(,"tls_verify":false)"),
          Entry(kCamera, password + R"(,"tls_verify":"false")")}) {
      const absl::Status status = Changed(before, after);
      EXPECT_TRUE(absl::IsPermissionDenied(status)) << after;
      EXPECT_THAT(std::string(status.message()), HasSubstr("client_sources.files")) << after;
      EXPECT_TRUE(Changed(before, after, {.files = true}).ok()) << after;
    }
    EXPECT_TRUE(Changed(before, Entry("rtsps://Camera:8322/2", password)).ok()) << "its other lens";
    EXPECT_TRUE(Changed(before, Entry(kCamera, password + R"(,"max_fps":5)")).ok());
    EXPECT_TRUE(
        Changed(Entry("rtsps://camera/1", password), Entry("rtsps://camera:322/2", password)).ok())
        << "its port, written out";
    EXPECT_TRUE(Changed(before, Entry("rtsps://other/1")).ok()) << "without the password";
    EXPECT_TRUE(Changed(before, Entry("rtsps://me:mine@other/1", R"(,"tls_verify":false)")).ok())
        << "with a password of the client's own";
  }
}

TEST(AllowedForClientsTest, APasswordOfAUriStaysBehindItsTls) {
  const std::string uri = "rtsps://me:secret@camera/1";
  const std::string trusted = R"(,"tls_ca_file":"/keys/ca.pem")";
  EXPECT_TRUE(Changed(Entry(uri), Entry(uri, R"(,"max_fps":5)")).ok());
  EXPECT_TRUE(absl::IsPermissionDenied(Changed(Entry(uri), Entry(uri, R"(,"tls_verify":false)"))));
  EXPECT_TRUE(absl::IsPermissionDenied(Changed(Entry(uri, trusted), Entry(uri))))
      << "others are trusted then";
  EXPECT_TRUE(Changed(Entry(uri, R"(,"tls_verify":false)"), Entry(uri)).ok()) << "more of it";
  EXPECT_TRUE(
      Changed(Entry(uri, R"(,"tls_verify":false)"), Entry(uri, R"(,"tls_verify":false)")).ok())
      << "no less than before";
}

}  // namespace
}  // namespace millrace::service
