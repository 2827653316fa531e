// Where a stream's frames come from, as the configuration says it.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nlohmann/json.hpp"
#include "service/config/config.h"
#include "tests/ingest/support/camera_uri_table.h"

namespace millrace::service {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::Not;

absl::StatusOr<Config> Parse(const std::string& source) {
  return ParseConfig("version: 1\nstreams: [{name: a, source: {" + source + "}}]\n", "c");
}

std::string WhatIsWrong(const std::string& source) {
  return std::string(Parse(source).status().message());
}

TEST(ConfigSourceTest, ACameraIsHeldOnToAsTheFileSays) {
  const auto config = Parse(
      "uri: 'rtsps://camera/1?of=a@b', transport: tcp, latency_ms: 30, connect_timeout_ms: 5000, "
      "stall_timeout_ms: 700, backoff_ms: [50, 60000], user: viewer, password_env: WORD, "
      "tls_ca_file: ca.pem, tls_verify: false, max_fps: 12.5, hw_decode: off, queue: 5");
  ASSERT_TRUE(config.ok()) << config.status();
  const ingest::SourceOptions& source = config->streams.front().source;
  EXPECT_EQ(source.camera.transport, ingest::Transport::kTcp);
  EXPECT_EQ(source.camera.latency, milliseconds(30));
  EXPECT_EQ(source.camera.connect_timeout, milliseconds(5000));
  EXPECT_EQ(source.camera.stall_timeout, milliseconds(700));
  EXPECT_EQ(source.camera.first_backoff, milliseconds(50));
  EXPECT_EQ(source.camera.max_backoff, milliseconds(60000));
  EXPECT_EQ(source.camera.login.user, "viewer");
  EXPECT_EQ(source.camera.login.password_variable, "WORD");
  EXPECT_EQ(source.camera.tls.ca_file, "ca.pem");
  EXPECT_FALSE(source.camera.tls.verify);
  EXPECT_EQ(source.max_frames_per_second, 12.5);
  EXPECT_EQ(source.hardware_decode, ingest::HardwareDecode::kOff);
  EXPECT_EQ(source.queue_capacity, 5);
}

TEST(ConfigSourceTest, AUriMustNameADeviceOrAFileOfThisMachine) {
  EXPECT_EQ(WhatIsWrong("uri: 'v4l2:/dev/video2'"), "");
  EXPECT_EQ(WhatIsWrong("uri: 'file:///srv/street.mp4'"), "");
  for (const std::string uri : {"v4l2:", "v4l2:video0", "v4l2:0"}) {
    EXPECT_THAT(WhatIsWrong("uri: '" + uri + "'"),
                HasSubstr("'uri' " + uri + ": names no device: write v4l2:/dev/video0"));
  }
  EXPECT_THAT(WhatIsWrong("uri: 'file://nas/street.mp4'"), HasSubstr("names the host nas"));
  EXPECT_THAT(WhatIsWrong("uri: 'file:'"), HasSubstr("names no file"));
}

TEST(ConfigSourceTest, ACameraInTheNetworkMayHaveAProcessOfItsOwn) {
  const auto isolates = [](const std::string& source) {
    const auto config = Parse(source);
    EXPECT_TRUE(config.ok()) << config.status();
    return config->streams.front().source.camera.isolate;
  };
  EXPECT_TRUE(isolates("uri: 'rtsp://camera/1'"));
  EXPECT_TRUE(isolates("uri: 'rtsp://camera/1', isolate: true"));
  EXPECT_TRUE(isolates("uri: 'rtsps://camera/1', isolate: true"));
  EXPECT_FALSE(isolates("uri: 'rtsp://camera/1', isolate: false"));
  for (const std::string uri : {"'test:'", "'push:'", "'v4l2:/dev/video0'", "street.avi"}) {
    EXPECT_THAT(WhatIsWrong("uri: " + uri + ", isolate: true"),
                HasSubstr("'isolate' is for rtsp: and rtsps: only"));
  }
}

TEST(ConfigSourceTest, AFullQueueDoesWhatIsSaidAndWhatTheSourceCan) {
  const auto policy = [](const std::string& source) {
    const auto config = Parse(source);
    EXPECT_TRUE(config.ok()) << config.status();
    return ingest::WhenFullOf(config->streams.front().source);
  };
  const std::string camera = "uri: 'rtsp://camera/1'";
  EXPECT_EQ(policy(camera), ingest::WhenFull::kDropOldest);
  EXPECT_EQ(policy(camera + ", queue_policy: drop_newest"), ingest::WhenFull::kDropNewest);
  EXPECT_EQ(policy("uri: street.avi"), ingest::WhenFull::kWait);
  EXPECT_EQ(policy("uri: 'push:'"), ingest::WhenFull::kWait);
  EXPECT_EQ(policy("uri: 'push:', as_camera: true, queue_policy: drop_newest"),
            ingest::WhenFull::kDropNewest);
  EXPECT_EQ(policy("uri: street.avi, queue_policy: block"), ingest::WhenFull::kWait);
  EXPECT_EQ(policy("uri: street.avi, as_camera: true, queue_policy: drop_oldest"),
            ingest::WhenFull::kDropOldest);
  EXPECT_THAT(WhatIsWrong(camera + ", queue_policy: block"),
              HasSubstr("'queue_policy' is block, which is for files and push:"));
  EXPECT_THAT(WhatIsWrong("uri: street.avi, queue_policy: drop_newest"),
              HasSubstr("take block, or set as_camera"));
}

TEST(ConfigSourceTest, ACamerasUriIsTakenAsPeopleHaveIt) {
  for (const ingest::GoodCameraUri& good : ingest::ReadCameraUriTable().good) {
    const auto config = Parse("uri: " + nlohmann::json(good.uri).dump());
    ASSERT_TRUE(config.ok()) << config.status();
    EXPECT_EQ(config->streams.front().source.uri, good.uri);
  }
}

TEST(ConfigSourceTest, AUriOfNoCameraIsRefusedWhereItStandsWithWhatToWrite) {
  for (const ingest::BadCameraUri& bad : ingest::ReadCameraUriTable().bad) {
    const std::string wrong = WhatIsWrong("uri: " + nlohmann::json(bad.uri).dump());
    EXPECT_THAT(wrong, HasSubstr("c:2:35: 'uri' has ")) << bad.uri;
    EXPECT_THAT(wrong, HasSubstr(bad.why)) << bad.uri;
    if (bad.secret.empty()) continue;
    EXPECT_THAT(wrong, Not(HasSubstr(bad.secret)));
  }
}

TEST(ConfigSourceTest, AUserOfTheUriMayHaveItsPasswordElsewhere) {
  EXPECT_EQ(WhatIsWrong("uri: 'rtsp://me@camera/1', password_env: WORD"), "");
  EXPECT_EQ(WhatIsWrong("uri: 'rtsp://me@camera/1', password_file: word"), "");
  EXPECT_THAT(WhatIsWrong("uri: 'rtsp://me:word@camera/1', password_file: word"),
              HasSubstr("'password_file' must not be beside a password in the URI"));
}

TEST(ConfigSourceTest, WhatDoesNotFitTogetherIsNamed) {
  const std::string camera = "uri: 'rtsp://camera/1', ";
  EXPECT_THAT(WhatIsWrong(camera + "transport: http"), HasSubstr("'transport' is 'http'"));
  EXPECT_THAT(WhatIsWrong(camera + "backoff_ms: [2000, 200]"),
              HasSubstr("'backoff_ms' must name the shortest wait first"));
  EXPECT_THAT(WhatIsWrong(camera + "password_env: WORD"), HasSubstr("'password_env' needs a user"));
  EXPECT_THAT(WhatIsWrong(camera + "user: a, password_env: WORD, password_file: f"),
              HasSubstr("'password_env' must not be beside password_file"));
  EXPECT_THAT(WhatIsWrong("uri: 'rtsp://b:word@camera/1', user: a"),
              HasSubstr("'user' must not be beside a user in the URI"));
  EXPECT_EQ(WhatIsWrong(camera + "transport: auto"), "");
  EXPECT_THAT(WhatIsWrong("uri: 'rtsps://camera/1', transport: auto"),
              HasSubstr("'transport' must be tcp for rtsps:"));
  EXPECT_THAT(WhatIsWrong(camera + "tls_verify: false"), HasSubstr("is for rtsps: only"));
  EXPECT_THAT(WhatIsWrong("uri: 'test:', transport: udp"), HasSubstr("is for rtsp: and rtsps:"));
  EXPECT_EQ(WhatIsWrong("uri: 'test:', stall_timeout_ms: 500"), "");
  for (const std::string how : {"auto", "require", "off"}) {
    EXPECT_THAT(WhatIsWrong("uri: 'test:', hw_decode: " + how),
                HasSubstr("'hw_decode' is for files, v4l2:, rtsp: and rtsps: only"));
    EXPECT_EQ(WhatIsWrong("uri: street.avi, hw_decode: " + how), "");
  }
}

TEST(ConfigSourceTest, PushedFramesFoldersAndDevicesHaveKeysOfTheirOwn) {
  EXPECT_EQ(WhatIsWrong("uri: 'push:', as_camera: true, queue: 4, max_fps: 10"), "");
  EXPECT_THAT(WhatIsWrong("uri: 'push:door'"), HasSubstr("'uri' has something behind push:"));
  EXPECT_THAT(WhatIsWrong("uri: 'push:', loop: true"), HasSubstr("'loop' is for files only"));
  EXPECT_THAT(WhatIsWrong("uri: 'push:', stall_timeout_ms: 500"), HasSubstr("is for cameras only"));
  EXPECT_THAT(WhatIsWrong("uri: 'push:', hw_decode: off"), HasSubstr("'hw_decode' is for"));
  EXPECT_EQ(Parse("uri: frames/, fps: 12.5, loop: true")->streams.front().source.images_per_second,
            12.5);
  EXPECT_THAT(WhatIsWrong("uri: frames/, fps: 0"), HasSubstr("'fps'"));
  EXPECT_THAT(WhatIsWrong("uri: 'test:', fps: 5"), HasSubstr("'fps' is for folders of images"));
  EXPECT_EQ(WhatIsWrong("uri: 'v4l2:/dev/video0', stall_timeout_ms: 500, hw_decode: off"), "");
  EXPECT_THAT(WhatIsWrong("uri: 'v4l2:/dev/video0', user: a"),
              HasSubstr("'user' is for rtsp: and rtsps: only"));
}

}  // namespace
}  // namespace millrace::service
