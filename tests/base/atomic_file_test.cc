#include "base/atomic_file.h"
#include "base/regular_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using ::testing::HasSubstr;

class AtomicFileTest : public ::testing::Test {
 public:
  ~AtomicFileTest() override { std::filesystem::remove_all(folder_); }

 protected:
  AtomicFileTest() { std::filesystem::create_directory(folder_); }

  [[nodiscard]] std::ptrdiff_t Entries() const {
    return std::distance(std::filesystem::directory_iterator(folder_), {});
  }

  const std::filesystem::path folder_ = std::filesystem::path(::testing::TempDir()) /
                                        ("millrace_atomic_file_" + std::to_string(getpid()));
};

TEST_F(AtomicFileTest, ReplacesTheFileAndLeavesNothingElse) {
  const std::string path = folder_ / "summary.json";
  ASSERT_TRUE(WriteFileAtomically(path, "old").ok());
  ASSERT_TRUE(WriteFileAtomically(path, "new").ok());
  EXPECT_EQ(ReadFile(path).value(), "new");
  EXPECT_EQ(Entries(), 1);
}

TEST_F(AtomicFileTest, NamesTheFileThatItCannotWrite) {
  const std::string path = folder_ / "missing" / "summary.json";
  for (const absl::Status& status : {WriteFileAtomically(path, "{}"), CheckWritable(path)}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
    EXPECT_THAT(std::string(status.message()), HasSubstr(path));
  }
}

TEST_F(AtomicFileTest, APlaceThatCannotBeLookedAtIsNamed) {
  const std::string path = folder_ / std::string(300, 'x') / "summary.json";
  EXPECT_THAT(std::string(CheckWritable(path).message()), HasSubstr(path));
}

TEST_F(AtomicFileTest, LeavesNothingBehindWhenItFails) {
  const std::filesystem::path path = folder_ / "folder";
  std::filesystem::create_directories(path / "not empty");
  EXPECT_FALSE(WriteFileAtomically(path, "{}").ok());
  EXPECT_EQ(Entries(), 1);
}

TEST_F(AtomicFileTest, ChecksWithoutTouchingTheFile) {
  const std::string path = folder_ / "summary.json";
  EXPECT_TRUE(CheckWritable(path).ok());
  EXPECT_EQ(Entries(), 0);
}

// Hangs until the test's timeout if the pipe is opened: it has no reader.
TEST_F(AtomicFileTest, NothingUnderTheTemporaryNameIsOpenedOrFollowed) {
  const std::string path = folder_ / "summary.json";
  const std::string temporary = path + "." + std::to_string(getpid()) + ".tmp";
  const std::string other = folder_ / "other";
  ASSERT_EQ(mkfifo(temporary.c_str(), 0600), 0);
  EXPECT_TRUE(WriteFileAtomically(path, "new").ok());
  std::ofstream(other) << "precious";
  for (const char* content : {"newer", "newest"}) {
    std::filesystem::create_symlink(other, temporary);
    EXPECT_TRUE(CheckWritable(path).ok());
    std::filesystem::create_symlink(other, temporary);
    EXPECT_TRUE(WriteFileAtomically(path, content).ok());
    EXPECT_EQ(ReadFile(path).value(), content);
  }
  EXPECT_EQ(ReadFile(other).value(), "precious");
  EXPECT_EQ(Entries(), 2);
}

}  // namespace
}  // namespace millrace
