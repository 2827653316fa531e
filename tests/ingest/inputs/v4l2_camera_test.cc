// Cameras of this machine. The tests need no such camera.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "ingest/inputs/open_source.h"
#include "tests/ingest/support/camera_tests.h"
#include "tests/ingest/support/media.h"

namespace millrace::ingest {
namespace {

using ::testing::HasSubstr;

/// What the source says once it waits for the next try.
SourceStatus Failing(const std::string& device) {
  const auto source = Open("v4l2:" + device, Patient());
  WaitUntil([&] { return source->status().state == SourceState::kBackingOff; });
  return source->status();
}

TEST(V4l2CameraTest, ADeviceThatIsNotThereIsTriedAgain) {
  const SourceStatus status = Failing("/dev/millrace-no-camera");
  EXPECT_EQ(status.cause.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(std::string(status.cause.message()),
            "v4l2:/dev/millrace-no-camera: there is no /dev/millrace-no-camera");
}

TEST(V4l2CameraTest, WhatIsNoDeviceIsSaidToBeNone) {
  const TemporaryFolder folder;
  const std::string file = folder.Write("video0", "");
  EXPECT_THAT(std::string(Failing(file).cause.message()), HasSubstr(file + " is no device"));
}

// GStreamer opens it, and says itself what is wrong.
TEST(V4l2CameraTest, ADeviceThatIsNoCameraSaysSo) {
  EXPECT_THAT(std::string(Failing("/dev/null").cause.message()), HasSubstr("/dev/null"));
}

TEST(V4l2CameraTest, ADeviceThatMayNotBeOpenedNamesTheGroup) {
  const std::string device = "/dev/mem";
  if (!std::filesystem::exists(device) || access(device.c_str(), R_OK | W_OK) == 0) {
    GTEST_SKIP() << "needs a device that this user may not open";
  }
  EXPECT_THAT(std::string(Failing(device).cause.message()), HasSubstr("the group video"));
}

TEST(V4l2CameraTest, NamesADevice) {
  for (const char* uri : {"v4l2:", "v4l2:video0"}) {
    const absl::Status status = OpenSource({.uri = uri}).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << uri;
    EXPECT_THAT(std::string(status.message()), HasSubstr("write v4l2:/dev/video0"));
  }
}

}  // namespace
}  // namespace millrace::ingest
