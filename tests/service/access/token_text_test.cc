// The valid content of a client's file of one token, and the errors of other files.
#include "service/access/token_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace millrace::service {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kSecret[] = "b2F1c3RpbmctdGhhdC1ub2JvZHktZ3Vlc3Nlcw==";

TEST(TokenTextTest, IsTheTokenWithoutTheWhiteSpaceAroundIt) {
  const std::string token = kSecret;
  for (const std::string& text : {token, token + "\n", token + "\r\n", "\n\t " + token + " \n\n"}) {
    const absl::StatusOr<std::string> read = TokenAlone(text, "--token-file", "token.txt");
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, token);
  }
}

struct Bad {
  std::string text;
  std::string said;
};

std::vector<Bad> AllBad() {
  const std::string token = kSecret;
  return {
      {"", "is empty"},
      {" \r\n\t\n", "is empty"},
      {"view " + token + "\ncontrol other-0123456789abcdef\n", "a server's list of tokens"},
      {"control\t" + token, "a server's list of tokens"},
      {"# who may look\r\n  view     " + token + "\r\n", "a server's list of tokens"},
      {"# made today\rview " + token, "a server's list of tokens"},
      {token + "\n" + token + "\n", "has several lines"},
      {"-----BEGIN PRIVATE KEY-----\n" + token + "\n-----END PRIVATE KEY-----\n", "in PEM"},
      {std::string(kMaxTokenBytes + 1, 'a'), "more than a token"},
      {"Bearer " + token, "characters that no token has"},
      {token + "\t" + token, "characters that no token has"},
      {"\"" + token + "\"", "characters that no token has"},
      {"{\"token\":\"" + token + "\"}", "characters that no token has"},
      {"\xef\xbb\xbf" + token, "characters that no token has"},
      {std::string(1, '\0') + token, "characters that no token has"},
      {token + "\x7f", "characters that no token has"},
      {token + "\xc3\xa4", "characters that no token has"},
      {token + "\x1b[2J", "characters that no token has"},
  };
}

TEST(TokenTextTest, AnyOtherTextIsRefusedInWordsThatDoNotRepeatIt) {
  for (const Bad& bad : AllBad()) {
    SCOPED_TRACE(bad.said);
    const absl::Status status = TokenAlone(bad.text, "--token-file", "token.txt").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    const std::string message(status.message());
    EXPECT_THAT(message, HasSubstr("--token-file: token.txt "));
    EXPECT_THAT(message, HasSubstr(bad.said));
    EXPECT_THAT(message, HasSubstr("give a file with one token alone"));
    EXPECT_THAT(message, Not(HasSubstr(std::string(kSecret).substr(0, 6))));
  }
}

}  // namespace
}  // namespace millrace::service
