#include "service/access/tokens.h"

#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/service/support/secret_files.h"

namespace millrace::service {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Optional;

constexpr char kLooks[] = "looks-0123456789";
constexpr char kChanges[] = "changes-0123456789";

std::string Refusal(std::string_view text) {
  return std::string(Tokens::Parse(text, "t").status().message());
}

TEST(TokensTest, EachLineIsATokenOfItsRole) {
  const auto tokens = Tokens::Parse(
      "# Who may look\n\nview looks-0123456789\r\n  control\t changes-0123456789  \n", "t");
  ASSERT_TRUE(tokens.ok()) << tokens.status();
  EXPECT_THAT(tokens->RoleOf(kLooks), Optional(Role::kView));
  EXPECT_THAT(tokens->RoleOf(kChanges), Optional(Role::kControl));
  EXPECT_EQ(tokens->RoleOf("looks-012345678"), std::nullopt);
  EXPECT_EQ(tokens->RoleOf("looks-0123456789 "), std::nullopt);
  EXPECT_EQ(tokens->RoleOf(""), std::nullopt);
}

TEST(TokensTest, WhatIsWrongIsNamedByItsLineAndNeverQuoted) {
  EXPECT_EQ(Refusal("view short\n"),
            "listen.tokens_file: t:1: the token is shorter than 16 characters; 'openssl rand -hex "
            "32' makes one");
  EXPECT_THAT(Refusal("\nadmin looks-0123456789\n"),
              AllOf(HasSubstr("t:2: the line must be 'view TOKEN' or 'control TOKEN'"),
                    Not(HasSubstr("looks"))));
  EXPECT_THAT(Refusal("looks-0123456789"), AllOf(HasSubstr("t:1:"), Not(HasSubstr("looks"))));
  EXPECT_THAT(Refusal("view"), HasSubstr("t:1: the line must be"));
  EXPECT_THAT(Refusal("view two words-0123456789"), HasSubstr("t:1: a token is letters, digits"));
  EXPECT_THAT(Refusal("view looks-0123456789\ncontrol looks-0123456789"),
              AllOf(HasSubstr("t:2: the token is that of a line before"), Not(HasSubstr("looks"))));
  EXPECT_THAT(Refusal("# nobody\n"), HasSubstr("t holds no token; add a line"));
}

class TokenFileTest : public ::testing::Test {
 protected:
  SecretFiles files_;
};

TEST_F(TokenFileTest, IsReadAgainOnceItHasChanged) {
  const auto tokens = TokenFile::Open(files_.Write("tokens", "view looks-0123456789"));
  ASSERT_TRUE(tokens.ok()) << tokens.status();
  EXPECT_THAT((*tokens)->RoleOf(kLooks), Optional(Role::kView));
  files_.Write("tokens", "control changes-0123456789");
  EXPECT_EQ((*tokens)->RoleOf(kLooks), std::nullopt);
  EXPECT_THAT((*tokens)->RoleOf(kChanges), Optional(Role::kControl));
}

TEST_F(TokenFileTest, KeepsItsTokensWhileTheFileIsWrongOrGone) {
  const auto tokens = TokenFile::Open(files_.Write("tokens", "view looks-0123456789"));
  ASSERT_TRUE(tokens.ok()) << tokens.status();
  files_.Write("tokens", "view");
  EXPECT_THAT((*tokens)->RoleOf(kLooks), Optional(Role::kView));
  std::filesystem::remove(files_.Path("tokens"));
  EXPECT_THAT((*tokens)->RoleOf(kLooks), Optional(Role::kView));
  files_.Write("tokens", "view another-0123456789");
  EXPECT_EQ((*tokens)->RoleOf(kLooks), std::nullopt);
}

TEST_F(TokenFileTest, OneThatEverybodyMayReadIsRefusedWithWhatToDo) {
  const std::string path = files_.Write("tokens", "view looks-0123456789");
  std::filesystem::permissions(path, std::filesystem::perms(0640));
  EXPECT_TRUE(TokenFile::Open(path).ok()) << "a group may";
  std::filesystem::permissions(path, std::filesystem::perms(0644));
  const absl::Status status = TokenFile::Open(path).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("chmod 600 " + path));
}

TEST_F(TokenFileTest, OneThatIsNotThereMayBeATokenAndIsNotRepeated) {
  const absl::Status status = TokenFile::Open(files_.Path("none")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("listen.tokens_file: the file that it names cannot be read: No such"));
  EXPECT_THAT(std::string(TokenFile::Open(files_.Path("")).status().message()),
              HasSubstr("it is a folder"));
}

// The server would wait without end for a pipe without a writer.
TEST_F(TokenFileTest, APipeOrDeviceIsRefusedAtOnce) {
  const std::string pipe = files_.Path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {pipe, std::string("/dev/zero")}) {
    EXPECT_THAT(std::string(TokenFile::Open(path).status().message()),
                HasSubstr(path + " cannot be read: it is a pipe, socket or device; name a file"));
  }
}

}  // namespace
}  // namespace millrace::service
