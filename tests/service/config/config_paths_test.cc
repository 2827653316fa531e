// Paths in a configuration are relative to its folder, whatever the working folder of the program
// and the author of the entry.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "ingest/source/uri.h"
#include "service/config/config.h"
#include "service/config/config_file.h"

namespace millrace::service {
namespace {

using ::testing::HasSubstr;

constexpr char kEveryPath[] = R"(version: 1
listen:
  tls: {certificate: server.pem, key: keys/server.key, client_ca: /etc/ca.pem}
  tokens_file: ../tokens.txt
model: {weights: start.safetensors, network: mine.pt}
checkpoints: {folder: kept}
streams:
- name: door
  source: {uri: 'rtsps://camera/1', user: me, password_file: door.txt, tls_ca_file: ca.pem}
- name: gate
  source: {uri: 'videos/gate.avi'}
  model: {task: classification, outputs: 2, network: classes.pt, weights: ./classes.bin}
)";

TEST(ConfigPathsTest, EachIsInTheFolderOfTheFile) {
  const auto config = ParseConfig(kEveryPath, "millrace.yaml", "/srv/cams");
  ASSERT_TRUE(config.ok()) << config.status();
  const GrpcSecurity& security = config->listen.security;
  EXPECT_EQ(security.tls.certificate, "/srv/cams/server.pem");
  EXPECT_EQ(security.tls.key, "/srv/cams/keys/server.key");
  EXPECT_EQ(security.tls.client_ca, "/etc/ca.pem");
  EXPECT_EQ(security.tokens_file, "/srv/cams/../tokens.txt");
  const StreamConfig& door = config->streams[0];
  EXPECT_EQ(door.learner.weights, "/srv/cams/start.safetensors");
  EXPECT_EQ(door.flow.network, "/srv/cams/mine.pt");
  EXPECT_EQ(door.learner.checkpoints.folder, "/srv/cams/kept/door");
  EXPECT_EQ(door.source.camera.login.password_file, "/srv/cams/door.txt");
  EXPECT_EQ(door.source.camera.tls.ca_file, "/srv/cams/ca.pem");
  const StreamConfig& gate = config->streams[1];
  EXPECT_EQ(gate.source.uri, "/srv/cams/videos/gate.avi");
  EXPECT_EQ(gate.labels.model, "/srv/cams/classes.pt");
  EXPECT_EQ(gate.learner.weights, "/srv/cams/./classes.bin");
}

TEST(ConfigPathsTest, AClientsEntryMeansTheSameAsInTheFile) {
  const auto config = ParseConfig(kEveryPath, "millrace.yaml", "/srv/cams");
  ASSERT_TRUE(config.ok()) << config.status();
  for (const StreamConfig& stream : config->streams) {
    const auto again = ParseStreamEntry(stream.entry, "config", config->defaults);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->effective, stream.effective);
    EXPECT_EQ(again->entry, stream.entry);
    EXPECT_EQ(again->source.uri, stream.source.uri);
  }
}

struct UriCase {
  std::string uri;
  std::string folder;
  std::string file;  ///< Empty: the URI stays as it is.
};

class ConfigPathsOfUris : public ::testing::TestWithParam<UriCase> {};

TEST_P(ConfigPathsOfUris, NamesTheFileInTheFolder) {
  const UriCase& named = GetParam();
  const auto config = ParseConfig(
      absl::StrCat("version: 1\nstreams: [{name: a, source: {uri: '", named.uri, "'}}]\n"), "c",
      named.folder);
  ASSERT_TRUE(config.ok()) << config.status();
  const std::string& uri = config->streams[0].source.uri;
  if (named.file.empty()) {
    EXPECT_EQ(uri, named.uri);
  } else {
    EXPECT_EQ(*ingest::FilePath(*ingest::ParseUri(uri)), named.file) << uri;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Forms, ConfigPathsOfUris,
    ::testing::Values(UriCase{"street.avi", "cams", "cams/street.avi"},
                      UriCase{"street.avi", "", "street.avi"},
                      UriCase{"street.avi", "/srv/100%", "/srv/100%/street.avi"},
                      UriCase{"street.avi", "a:b", "./a:b/street.avi"},
                      UriCase{"frames/*.png", "cams", "cams/frames/*.png"},
                      UriCase{"/videos/street.avi", "cams", ""},
                      UriCase{"file:my%20street.avi", "cams", "cams/my street.avi"},
                      UriCase{"FILE:street.avi", "/srv/100%41", "/srv/100%41/street.avi"},
                      UriCase{"file:///videos/street.avi", "cams", ""},
                      UriCase{"file:/videos/street.avi", "cams", ""},
                      UriCase{"file://localhost/videos/street.avi", "cams", ""},
                      UriCase{"test:ball", "cams", ""}, UriCase{"push:", "cams", ""},
                      UriCase{"v4l2:/dev/video0", "cams", ""},
                      UriCase{"rtsp://camera/street.avi", "cams", ""}));

TEST(ConfigPathsTest, WhatOnlyAShellKnowsIsRefused) {
  for (const char* keys : {"source: {uri: ~/street.avi}", "source: {uri: 'file:~/street.avi'}",
                           "source: {uri: 'test:'}, model: {weights: ~/start.safetensors}",
                           "source: {uri: 'test:'}, model: {network: ~/mine.pt}",
                           "source: {uri: 'test:'}, checkpoints: {folder: ~/kept}"}) {
    const auto config =
        ParseConfig(absl::StrCat("version: 1\nstreams: [{name: a, ", keys, "}]\n"), "c");
    EXPECT_THAT(config.status().message(), HasSubstr("only a shell knows what ~ is")) << keys;
  }
}

/// A separate folder, which is removed afterwards.
class ConfigFileTest : public ::testing::Test {
 protected:
  ConfigFileTest() { std::filesystem::create_directories(folder_ / "real"); }
  ~ConfigFileTest() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] static std::string VideoOf(const std::filesystem::path& file) {
    const auto config = LoadConfig(file.string());
    return config.ok() ? config->streams[0].source.uri : std::string(config.status().message());
  }

  const std::filesystem::path folder_ =
      std::filesystem::path(::testing::TempDir()) /
      ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

// `millrace serve --config <(command)`. Once read, a pipe that is read again would be waited for.
TEST_F(ConfigFileTest, APipeIsReadOnceAndHasNoFolder) {
  const std::string pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  {
    std::jthread writer([&pipe] {
      std::ofstream(pipe) << "version: 1\nstreams: [{name: a, source: {uri: b.avi}}]\n";
    });
    EXPECT_EQ(VideoOf(pipe), "b.avi");
  }
  EXPECT_THAT(std::string(LoadConfigAgain(pipe).status().message()),
              HasSubstr(pipe + " cannot be read: it is a pipe"));
}

TEST_F(ConfigFileTest, WhatNeverEndsIsRefused) {
  EXPECT_THAT(VideoOf("/dev/zero"), HasSubstr("it holds more than the 16777216 bytes"));
}

TEST_F(ConfigFileTest, TheFolderIsThatOfTheNameByWhichItIsRead) {
  std::ofstream(folder_ / "real/a.yaml")
      << "version: 1\nstreams: [{name: a, source: {uri: b.avi}}]\n";
  std::filesystem::create_symlink("real/a.yaml", folder_ / "link.yaml");
  EXPECT_EQ(VideoOf(folder_ / "real/a.yaml"), folder_ / "real/b.avi");
  EXPECT_EQ(VideoOf(folder_ / "link.yaml"), folder_ / "b.avi");
}

}  // namespace
}  // namespace millrace::service
