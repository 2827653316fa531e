// WithoutCredentials() must hide credentials in any text, not only in valid URIs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "ingest/source/source.h"

namespace millrace::ingest {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(CredentialsTest, HidesUserAndPassword) {
  EXPECT_EQ(WithoutCredentials("rtsp://user:secret@camera/1"), "rtsp://***@camera/1");
  EXPECT_EQ(WithoutCredentials("RTSPS://user@camera:322/1"), "RTSPS://***@camera:322/1");
}

TEST(CredentialsTest, LeavesTheRestAlone) {
  for (const char* uri :
       {"", "street.avi", "/a b/c.mp4", "file:///videos/a@b.mp4", "test:ball",
        "rtsp://camera:554/live?channel=1&subtype=0", "rtsp://[::1]:8554/x", "a:b=c", "monkey=1"}) {
    EXPECT_EQ(WithoutCredentials(uri), uri);
  }
}

TEST(CredentialsTest, HidesCredentialsInPathsAndQueries) {
  EXPECT_EQ(WithoutCredentials("rtsp://cam/x?user=admin&password=secret&channel=1"),
            "rtsp://cam/x?user=***&password=***&channel=1");
  EXPECT_EQ(WithoutCredentials("rtsp://cam/user=admin_password=secret_channel=1/0.sdp"),
            "rtsp://cam/user=***/0.sdp");
  EXPECT_EQ(WithoutCredentials("rtsp://cam/x?Token=secret#y"), "rtsp://cam/x?Token=***#y");
}

TEST(CredentialsTest, HidesThemInsideAMessage) {
  EXPECT_EQ(WithoutCredentials("could not open rtsp://user:secret@camera/1: refused"),
            "could not open rtsp://***@camera/1: refused");
}

// Users do not encode special characters of a password, and each parser splits such a URI
// differently.
TEST(CredentialsTest, HidesPasswordsThatShouldHaveBeenEncoded) {
  for (const char* uri :
       {"rtsp://user:se/cret@camera/1", "rtsp://user:se@cret@camera/1",
        "rtsp://user:12/cret@camera", "rtsp://user:se?cret@camera", "rtsp://user:se#cret@camera",
        "rtsp://us er:se cret@camera", "rtsp:user:cret@camera", "rtsp:/user:cret@camera",
        "xyz://user:://cret@camera", "rtsp://user:cret@", "://user:cret@"}) {
    EXPECT_THAT(WithoutCredentials(uri), Not(HasSubstr("cret"))) << uri;
    EXPECT_THAT(WithoutCredentials(uri), HasSubstr("***@")) << uri;
  }
}

TEST(CredentialsTest, KeepsLineBreaksOutOfTheLog) {
  EXPECT_EQ(WithoutCredentials("a\nb\x1b[31m"), "a?b?[31m");
}

TEST(CredentialsTest, HidesALoginWhoseHostWasForgotten) {
  EXPECT_EQ(WithoutCredentials("rtsp://admin:secret"), "rtsp://***");
  EXPECT_EQ(WithoutCredentials("rtsp://admin:secret/live"), "rtsp://***/live");
  EXPECT_EQ(WithoutCredentials("rtsp://camera:8554/live"), "rtsp://camera:8554/live");
  EXPECT_EQ(WithoutCredentials("rtsp://camera:8554: refused"), "rtsp://camera:8554: refused");
  EXPECT_EQ(WithoutCredentials("rtsp://[fd00::64]/live"), "rtsp://[fd00::64]/live");
}

TEST(CredentialsTest, HidesWhateverTheCharacters) {
  const std::string alphabet = "aZ09:/?#@[]%&=;. _-\t\xc3\xa9";
  std::mt19937 random(2024);
  for (int i = 0; i < 20'000; ++i) {
    std::string noise;
    for (auto n = random() % 12; n > 0; --n) noise += alphabet[random() % alphabet.size()];
    const std::string shown = WithoutCredentials("rtsp://user:QXQ" + noise + "@camera/1");
    EXPECT_THAT(shown, Not(HasSubstr("QXQ"))) << noise;
    EXPECT_EQ(WithoutCredentials(shown), shown) << "hiding twice must be hiding once";
  }
}

}  // namespace
}  // namespace millrace::ingest
