#include "ingest/source/camera_fault.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace millrace::ingest {
namespace {

using ::testing::HasSubstr;

/// The lines of docs/cameras.md that are rows of a table with this in its first column.
std::string RowFor(const std::string& words) {
  std::ifstream page(MILLRACE_SOURCE_DIR "/docs/cameras.md");
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("| ") && line.find("`" + words + "`") != std::string::npos) return line;
  }
  return "";
}

TEST(CameraFaultTest, EachHasItsPlace) {
  for (std::size_t i = 0; i < kCameraFaults.size(); ++i) {
    EXPECT_EQ(static_cast<std::size_t>(kCameraFaults[i].fault), i) << kCameraFaults[i].what;
  }
}

TEST(CameraFaultTest, SaysWhatItIsAndWhatToDo) {
  EXPECT_EQ(std::string(StatusOf(CameraFault::kNoRoute).message()),
            "no route leads to its address; check the address, and this machine's network");
  EXPECT_THAT(std::string(StatusOf(CameraFault::kErrorAnswer, "Internal Error (500)").message()),
              HasSubstr("it answers with an error: Internal Error (500); check the path"));
}

TEST(CameraFaultTest, ThePageSaysTheSameWords) {
  for (const CameraFaultText& fault : kCameraFaults) {
    const std::string row = RowFor(std::string(fault.what));
    ASSERT_NE(row, "") << "docs/cameras.md has no row for: " << fault.what;
    EXPECT_THAT(row, HasSubstr(std::string(fault.remedy)));
  }
}

}  // namespace
}  // namespace millrace::ingest
