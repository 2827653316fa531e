#include "ingest/source/camera_uri.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "ingest/source/source.h"
#include "tests/ingest/support/camera_uri_table.h"

namespace millrace::ingest {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

absl::StatusOr<CameraUri> Parse(const std::string& text) {
  const absl::StatusOr<Uri> uri = ParseUri(text);
  if (!uri.ok()) return uri.status();
  return ParseCameraUri(*uri);
}

TEST(CameraUriTest, TakesUrisAsPeopleHaveThem) {
  const CameraUriTable table = ReadCameraUriTable();
  ASSERT_GE(table.good.size(), 60U);
  for (const GoodCameraUri& expected : table.good) {
    SCOPED_TRACE(expected.brand + ": " + expected.uri);
    const absl::StatusOr<CameraUri> camera = Parse(expected.uri);
    ASSERT_TRUE(camera.ok()) << camera.status();
    EXPECT_EQ(camera->host, expected.host);
    EXPECT_EQ(camera->port, expected.port);
    EXPECT_EQ(camera->has_login, expected.user.has_value());
    EXPECT_EQ(camera->user, expected.user.value_or(""));
    EXPECT_EQ(camera->password, expected.password.value_or(""));
    EXPECT_EQ(camera->path, expected.path);
  }
}

TEST(CameraUriTest, SaysWhatToWriteInstead) {
  for (const BadCameraUri& bad : ReadCameraUriTable().bad) {
    SCOPED_TRACE(bad.uri);
    const absl::Status status = Parse(bad.uri).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr(bad.why));
    if (!bad.secret.empty()) {
      EXPECT_THAT(std::string(status.message()), Not(HasSubstr(bad.secret)));
      EXPECT_THAT(WithoutCredentials(bad.uri), Not(HasSubstr(bad.secret)));
    }
  }
}

TEST(CameraUriTest, GStreamerIsToldTheSamePlaceWithoutTheLogin) {
  const auto location = [](const std::string& text) { return LocationOf(*Parse(text)); };
  EXPECT_EQ(location("rtsp://me:p@ss@camera.local/a?b=c"), "rtsp://camera.local/a?b=c");
  EXPECT_EQ(location("RTSP://camera.local:554"), "rtsp://camera.local");
  EXPECT_EQ(location("rtsp://camera.local:8554/"), "rtsp://camera.local:8554/");
  EXPECT_EQ(location("rtsps://camera.local/1"), "rtsps://camera.local:322/1");
  EXPECT_EQ(location("rtsps://camera.local:554/1"), "rtsps://camera.local:554/1");
  EXPECT_EQ(location("rtsp://me@[FD00::64]:8554/1"), "rtsp://[FD00::64]:8554/1");
  EXPECT_EQ(location("rtsp://[fe80::1%eth0]/1"), "rtsp://[fe80::1%25eth0]/1");
}

// What is taken is taken once more, as it was written for GStreamer, and is the same place then.
TEST(CameraUriTest, SurvivesAnyInput) {
  const std::string alphabet = "a0:/@?#[]%25&=.; \\-_\xc3\xa9";
  std::mt19937 random(11);
  for (int i = 0; i < 50'000; ++i) {
    std::string text = i % 2 == 0 ? "rtsp://" : "rtsps:";
    for (auto n = random() % 20; n > 0; --n) text += alphabet[random() % alphabet.size()];
    const absl::StatusOr<CameraUri> camera = Parse(text);
    if (!camera.ok()) continue;
    EXPECT_FALSE(camera->host.empty()) << text;
    EXPECT_TRUE(camera->port >= 1 && camera->port <= 65535) << text;
    const absl::StatusOr<CameraUri> again = Parse(LocationOf(*camera));
    ASSERT_TRUE(again.ok()) << text << ": " << again.status();
    EXPECT_EQ(again->host, camera->host) << text;
    EXPECT_EQ(again->port, camera->port) << text;
    EXPECT_EQ(again->path, camera->path) << text;
    EXPECT_FALSE(again->has_login) << text;
  }
}

}  // namespace
}  // namespace millrace::ingest
