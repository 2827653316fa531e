#include "service/commands/init_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/regular_file.h"
#include "service/config/config.h"
#include "tests/base/temporary_folder.h"

namespace millrace::service {
namespace {

mode_t ModeOf(const std::string& path) {
  struct stat found = {};
  EXPECT_EQ(stat(path.c_str(), &found), 0);
  return found.st_mode & 0777;
}

// In the forms that cameras' manuals have.
TEST(CmdInitTest, WritesFiveLinesThatMeanWhatWasTyped) {
  for (const std::string uri :
       {"rtsp://user:password@camera.local/stream1", "rtsp://10.0.0.8:554/Streaming/Channels/101",
        "rtsp://u:p%40ss@10.0.0.8/cam/realmonitor?channel=1&subtype=0",
        "rtsp://[fd00::8]/h264Preview_01_main", "rtsps://garage/axis-media/media.amp",
        "rtsp://u:p'q\"r@h/1", "rtsp://h/a b", "v4l2:/dev/video0", "test:ball",
        "test:", "push:", "street.mp4", "my street, 100%.mp4", "frames/*.png", "- x: y.mp4", "7",
        "yes", "~", "null"}) {
    SCOPED_TRACE(uri);
    const std::string text = ConfigOf({.uri = uri});
    EXPECT_EQ(std::ranges::count(text, '\n'), 5);
    const auto config = ParseConfig(text, "c");
    ASSERT_TRUE(config.ok()) << config.status() << "\n" << text;
    EXPECT_EQ(config->streams.at(0).source.uri, uri);
    EXPECT_EQ(config->streams.at(0).name, "camera");
  }
}

TEST(CmdInitTest, NamesTheStreamAsAsked) {
  for (const std::string name : {"gate", "on", "7", "east-gate_2"}) {
    const auto config = ParseConfig(ConfigOf({.uri = "test:", .name = name}), "c");
    ASSERT_TRUE(config.ok()) << config.status();
    EXPECT_EQ(config->streams.at(0).name, name);
  }
}

TEST(CmdInitTest, AVideosPathIsRightFromWhereverTheFileIs) {
  const auto config = ParseConfig(ConfigOf({.uri = "street.mp4", .output = "/etc/m.yaml"}), "c");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->streams.at(0).source.uri, std::filesystem::current_path() / "street.mp4");
}

TEST(CmdInitTest, AFileWithAPasswordIsForItsOwnerAlone) {
  const TemporaryFolder folder;
  const mode_t mask = umask(022);
  ASSERT_TRUE(WriteConfig(folder / "secret.yaml", "a", /*secret=*/true, /*replace=*/false).ok());
  ASSERT_TRUE(WriteConfig(folder / "open.yaml", "b", /*secret=*/false, /*replace=*/false).ok());
  umask(mask);
  EXPECT_EQ(ModeOf(folder / "secret.yaml"), 0600u);
  EXPECT_EQ(ModeOf(folder / "open.yaml"), 0644u);
}

TEST(CmdInitTest, ReplacesNothingUnlessItIsToldTo) {
  const TemporaryFolder folder;
  const std::string path = folder / "millrace.yaml";
  ASSERT_TRUE(WriteConfig(path, "mine", false, false).ok());
  EXPECT_EQ(WriteConfig(path, "other", true, false).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(*ReadFile(path), "mine");
  ASSERT_TRUE(WriteConfig(path, "other", true, true).ok());
  EXPECT_EQ(*ReadFile(path), "other");
  EXPECT_EQ(ModeOf(path), 0600u);
  const auto files = std::filesystem::directory_iterator(folder.path());
  EXPECT_EQ(std::distance(begin(files), end(files)), 1) << "no file beside it is left";
}

TEST(CmdInitTest, AFolderThatIsNotThereIsNamed) {
  const absl::Status failed = WriteConfig("/no/such/folder/m.yaml", "a", false, false);
  EXPECT_THAT(std::string(failed.message()), testing::HasSubstr("/no/such/folder/m.yaml"));
}

}  // namespace
}  // namespace millrace::service
