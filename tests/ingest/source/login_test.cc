#include "ingest/source/login.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/base/temporary_folder.h"

namespace millrace::ingest {
namespace {

using ::testing::HasSubstr;

std::string PasswordIn(const std::string& text) {
  const TemporaryFolder folder;
  const auto password =
      ReadPassword({.user = "a", .password_file = folder.Write("password", text)});
  EXPECT_TRUE(password.ok()) << password.status();
  return *password;
}

TEST(LoginTest, APasswordIsTheWholeFileButTheLineBreakAtItsEnd) {
  EXPECT_EQ(PasswordIn("word"), "word");
  EXPECT_EQ(PasswordIn("a word \n"), "a word ");
  EXPECT_EQ(PasswordIn("word\r\n"), "word");
  EXPECT_EQ(PasswordIn("word\r"), "word\r");
  EXPECT_EQ(PasswordIn("\n\n"), "\n");
  EXPECT_EQ(PasswordIn(""), "");
}

TEST(LoginTest, APasswordIsReadFromTheEnvironment) {
  setenv("MILLRACE_LOGIN_TEST", "word", 1);
  EXPECT_EQ(*ReadPassword({.user = "a", .password_variable = "MILLRACE_LOGIN_TEST"}), "word");
  unsetenv("MILLRACE_LOGIN_TEST");
  EXPECT_EQ(*ReadPassword({.user = "a"}), "") << "some cameras ask for none";
}

TEST(LoginTest, APasswordThatCannotBeHadSaysWhereItShouldBe) {
  const auto why = [](const Login& login) {
    return std::string(ReadPassword(login).status().message());
  };
  const TemporaryFolder folder;
  EXPECT_THAT(why({.user = "a", .password_file = "no/such"}),
              HasSubstr("the password cannot be read from no/such: No such file"));
  EXPECT_THAT(why({.user = "a", .password_file = folder.Write("long", std::string(5000, 'x'))}),
              HasSubstr("more than the 4096 bytes"));
  EXPECT_THAT(why({.user = "a", .password_file = testing::TempDir()}), HasSubstr("it is a folder"));
  EXPECT_THAT(why({.user = "a", .password_variable = "MILLRACE_NO_SUCH"}),
              HasSubstr("MILLRACE_NO_SUCH with the camera's password is not set"));
}

}  // namespace
}  // namespace millrace::ingest
