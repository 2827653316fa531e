#include "ingest/source/uri.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

namespace millrace::ingest {
namespace {

using ::testing::HasSubstr;

struct Cut {
  std::string text;
  std::string scheme;
  std::string rest;
};

TEST(UriTest, CutsAtTheScheme) {
  const Cut cuts[] = {
      {"street.avi", "", "street.avi"},
      {"/videos/street.avi", "", "/videos/street.avi"},
      {"./a:b.mp4", "", "./a:b.mp4"},
      {"videos/a:b.mp4", "", "videos/a:b.mp4"},
      {"a:b.mp4", "a", "b.mp4"},
      {"file:street.avi", "file", "street.avi"},
      {"FILE:Street.avi", "file", "Street.avi"},
      {"rtsp://Camera/Live", "rtsp", "//Camera/Live"},
      {"test:", "test", ""},
      {"test:ball", "test", "ball"},
      {":ball", "", ":ball"},
      {"1a:b", "", "1a:b"},
      {"a+b-c.d:e", "a+b-c.d", "e"},
      {"://", "", "://"},
      {":", "", ":"},
      {"%41:b", "", "%41:b"},
      {" file:x", "", " file:x"},
      {"\xc3\xa9:x", "", "\xc3\xa9:x"},
  };
  for (const Cut& cut : cuts) {
    const absl::StatusOr<Uri> uri = ParseUri(cut.text);
    ASSERT_TRUE(uri.ok()) << cut.text;
    EXPECT_EQ(uri->scheme, cut.scheme) << cut.text;
    EXPECT_EQ(uri->rest, cut.rest) << cut.text;
  }
}

TEST(UriTest, RefusesWhatHasNoPlaceInALog) {
  for (const std::string& text : {std::string(), std::string("a\nb"), std::string("a\0b", 3),
                                  std::string("rtsp://u:p@h/\r\nX: y"), std::string("\x7f")}) {
    EXPECT_EQ(ParseUri(text).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

std::string PathOf(const std::string& text) {
  const absl::StatusOr<Uri> uri = ParseUri(text);
  if (!uri.ok()) return uri.status().ToString();
  const absl::StatusOr<std::string> path = FilePath(*uri);
  return path.ok() ? *path : path.status().ToString();
}

TEST(FilePathTest, KnowsEveryWayToNameAFile) {
  EXPECT_EQ(PathOf("a%20b.avi"), "a%20b.avi");
  EXPECT_EQ(PathOf("file:a.avi"), "a.avi");
  EXPECT_EQ(PathOf("file:../a.avi"), "../a.avi");
  EXPECT_EQ(PathOf("file:/v/a.avi"), "/v/a.avi");
  EXPECT_EQ(PathOf("file:///v/a.avi"), "/v/a.avi");
  EXPECT_EQ(PathOf("file://localhost/v/a.avi"), "/v/a.avi");
  EXPECT_EQ(PathOf("file:a%20b%2Cc%e2%82%ac.avi"), "a b,c\xe2\x82\xac.avi");
  EXPECT_EQ(PathOf("file:100%25.avi"), "100%.avi");
}

TEST(FilePathTest, SaysWhatIsWrong) {
  EXPECT_THAT(PathOf("file://nas/v/a.avi"), HasSubstr("names the host nas"));
  EXPECT_THAT(PathOf("file:"), HasSubstr("names no file"));
  EXPECT_THAT(PathOf("file://"), HasSubstr("names no file"));
  EXPECT_THAT(PathOf("file://localhost"), HasSubstr("names no file"));
  for (const char* bad :
       {"file:100%.avi", "file:%", "file:%4", "file:%zz", "file:%00", "file:%%41"}) {
    EXPECT_THAT(PathOf(bad), HasSubstr("%25")) << bad;
  }
}

TEST(FilePathTest, SurvivesAnyInput) {
  const std::string alphabet = "file:/%0aZ.@?#\\ \n\xff";
  std::mt19937 random(7);
  for (int i = 0; i < 50'000; ++i) {
    std::string text = i % 2 == 0 ? "file:" : "";
    for (auto n = random() % 16; n > 0; --n) text += alphabet[random() % alphabet.size()];
    const absl::StatusOr<Uri> uri = ParseUri(text);
    if (!uri.ok() || !(uri->scheme.empty() || uri->scheme == "file")) continue;
    const absl::StatusOr<std::string> path = FilePath(*uri);
    if (path.ok()) {
      EXPECT_FALSE(path->empty()) << text;
      EXPECT_EQ(path->find('\0'), std::string::npos) << text;
    }
  }
}

TEST(DevicePathTest, IsAPathFromTheRoot) {
  const auto device = [](const std::string& rest) {
    return DevicePath({.scheme = "v4l2", .rest = rest});
  };
  EXPECT_EQ(*device("/dev/video0"), "/dev/video0");
  EXPECT_EQ(*device("///dev/video0"), "///dev/video0");
  for (const char* const rest : {"", "video0", "dev/video0"}) {
    EXPECT_EQ(device(rest).status().code(), absl::StatusCode::kInvalidArgument) << rest;
  }
}

}  // namespace
}  // namespace millrace::ingest
