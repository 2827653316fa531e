#include "service/commands/plan/schedule_pictures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/regular_file.h"
#include "pipeline/schedules/schedules.h"

namespace millrace::service {
namespace {

using ::testing::HasSubstr;

constexpr char kDraw[] = "draw them again: cmake --build BUILD --target schedule_pictures";

TEST(SchedulePicturesTest, ThoseInTheDocumentationAreWhatTheCodeDraws) {
  const auto pictures = SchedulePictures();
  ASSERT_TRUE(pictures.ok()) << pictures.status();
  for (const auto& [schedule, svg] : *pictures) {
    const std::string path = std::string(MILLRACE_DOCS "/schedules/") + schedule + ".svg";
    EXPECT_TRUE(ReadFile(path).value_or("") == svg) << path << " is another picture; " << kDraw;
  }
}

TEST(SchedulePicturesTest, ThePageHasEveryScheduleAndItsFigures) {
  const std::string page = *ReadFile(MILLRACE_DOCS "/schedules.md");
  for (const std::string& schedule : pipeline::ScheduleNames()) {
    EXPECT_THAT(page, HasSubstr("(schedules/" + schedule + ".svg)"));
  }
  const auto figures = ScheduleFigures();
  ASSERT_TRUE(figures.ok()) << figures.status();
  EXPECT_THAT(page, HasSubstr(*figures)) << kDraw << "; it prints the table";
}

}  // namespace
}  // namespace millrace::service
