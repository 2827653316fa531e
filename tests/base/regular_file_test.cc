#include "base/regular_file.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/temporary_folder.h"

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using ::testing::HasSubstr;

class RegularFileTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string Pipe() const {
    EXPECT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
    return folder_ / "pipe";
  }
  [[nodiscard]] std::string Socket() const {
    sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = {}};
    (folder_ / "socket").copy(name.sun_path, sizeof(name.sun_path) - 1);
    const Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(bind(socket.value(), reinterpret_cast<const sockaddr*>(&name), sizeof(name)), 0);
    return folder_ / "socket";
  }

  const TemporaryFolder folder_;
};

TEST_F(RegularFileTest, IsReadAsAWhole) {
  const std::string content(200'000, 'x');
  EXPECT_EQ(ReadFile(folder_.Write("file", content)).value(), content);
  EXPECT_EQ(ReadFile(folder_.Write("empty", "")).value(), "");
}

TEST_F(RegularFileTest, IsReadThroughALink) {
  static_cast<void>(folder_.Write("file", "text"));
  std::filesystem::create_symlink("file", folder_ / "link");
  EXPECT_EQ(ReadFile(folder_ / "link").value(), "text");
}

TEST_F(RegularFileTest, ThatIsNotThereIsNotFound) {
  const absl::Status status = ReadFile(folder_ / "missing").status();
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr(folder_ / "missing"));
}

// Each of these hangs, or takes all memory, and is killed by the test's timeout, if it is read.
TEST_F(RegularFileTest, NothingElseIsOpened) {
  std::filesystem::create_symlink("/dev/zero", folder_ / "link");
  for (const std::string& path :
       {Pipe(), Socket(), folder_ / "link", std::string("/dev/zero"), folder_.path().string()}) {
    const absl::Status status = ReadFile(path).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(path + " cannot be read: it is a "));
  }
}

TEST_F(RegularFileTest, IsReadUpToItsBound) {
  const std::string path = folder_.Write("file", "four");
  EXPECT_EQ(ReadFile(path, 4).value(), "four");
  EXPECT_THAT(std::string(ReadFile(path, 3).status().message()),
              HasSubstr("more than the 3 bytes that such a file may have"));
  std::filesystem::resize_file(path, std::uintmax_t{1} << 40);
  EXPECT_TRUE(absl::IsInvalidArgument(ReadFile(path).status())) << "a terabyte of holes";
}

TEST_F(RegularFileTest, APipeThatTheUserNamesIsReadToItsEnd) {
  const std::string path = Pipe();
  const std::string content(200'000, 'x');
  std::jthread writer([&] { std::ofstream(path) << content; });
  EXPECT_EQ(ReadFileOrPipe(path, 1 << 20, hours(1)).value(), content);
  EXPECT_EQ(ReadFileOrPipe(folder_.Write("file", "text"), 4, milliseconds(0)).value(), "text");
}

TEST_F(RegularFileTest, APipeWithoutAWriterIsGivenUp) {
  const absl::Status status = ReadFileOrPipe(Pipe(), 1, milliseconds(1)).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("nothing came through it for 0.001 s"));
}

TEST_F(RegularFileTest, ADeviceThatTheUserNamesIsReadUpToItsBound) {
  EXPECT_EQ(ReadFileOrPipe("/dev/null", 1, hours(1)).value(), "");
  EXPECT_TRUE(absl::IsInvalidArgument(ReadFileOrPipe("/dev/zero", 1 << 20, hours(1)).status()));
}

}  // namespace
}  // namespace millrace
