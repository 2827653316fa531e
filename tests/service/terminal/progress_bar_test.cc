#include "service/terminal/progress_bar.h"

#include <sstream>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::service {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;

class ProgressBarTest : public ::testing::Test {
 protected:
  [[nodiscard]] ProgressBar::Options OnATerminal(std::size_t columns = 80) const {
    return {.unit = "pairs", .rewrites = true, .columns = columns, .clock = &clock_};
  }
  [[nodiscard]] ProgressBar::Options InAFile() const { return {.unit = "pairs", .clock = &clock_}; }

  // What was printed since it was asked before.
  std::string Printed() {
    std::string text = out_.str();
    out_.str("");
    return text;
  }

  FakeClock clock_;
  std::ostringstream out_;
};

TEST_F(ProgressBarTest, InAFileThereIsALineForEveryTenth) {
  ProgressBar bar(out_, InAFile());
  for (int done = 1; done <= 1000; ++done) {
    clock_.Advance(seconds(1));
    bar.Show(done, 1000);
  }
  bar.Finish();
  std::istringstream lines(Printed());
  std::string line;
  for (int tenth = 1; tenth <= 10; ++tenth) {
    ASSERT_TRUE(std::getline(lines, line));
    EXPECT_THAT(line, HasSubstr(std::to_string(100 * tenth) + " of 1000 pairs"));
    EXPECT_THAT(line, Not(HasSubstr("\x1b")));
  }
  EXPECT_FALSE(std::getline(lines, line));
}

// What is over at once needs no progress, and a log is no place for ten lines a second.
TEST_F(ProgressBarTest, InAFileItPausesBetweenLines) {
  ProgressBar bar(out_, InAFile());
  bar.Show(10, 100);
  clock_.Advance(milliseconds(1900));
  bar.Show(20, 100);
  EXPECT_EQ(Printed(), "");
  clock_.Advance(milliseconds(100));
  bar.Show(30, 100);
  EXPECT_THAT(Printed(), HasSubstr("30 of 100"));
  bar.Show(90, 100);
  EXPECT_EQ(Printed(), "");
  bar.Show(100, 100);
  EXPECT_THAT(Printed(), HasSubstr("100 of 100")) << "what was begun is ended";
}

TEST_F(ProgressBarTest, InAFileWhatIsOverAtOnceSaysNothing) {
  ProgressBar bar(out_, InAFile());
  for (int done = 1; done <= 100; ++done) bar.Show(done, 100);
  bar.Clear();
  bar.Finish();
  EXPECT_EQ(Printed(), "");
}

TEST_F(ProgressBarTest, MakesRoomForOtherLines) {
  ProgressBar bar(out_, OnATerminal());
  bar.Clear();
  EXPECT_EQ(Printed(), "") << "nothing was there";
  bar.Show(1, 100);
  (void)Printed();
  bar.Clear();
  EXPECT_EQ(Printed(), "\r\x1b[K");
  bar.Show(2, 100);
  EXPECT_THAT(Printed(), HasSubstr("2 of 100")) << "at once, as it is not there";
}

TEST_F(ProgressBarTest, OnATerminalItRewritesItsLineAFewTimesASecond) {
  ProgressBar bar(out_, OnATerminal());
  bar.Show(0, 100);
  EXPECT_THAT(Printed(), HasSubstr("\r"));
  bar.Show(1, 100);
  EXPECT_THAT(Printed(), HasSubstr("1 of 100")) << "the first that says how long it takes";
  clock_.Advance(milliseconds(50));
  bar.Show(2, 100);
  EXPECT_EQ(Printed(), "") << "too soon";
  clock_.Advance(milliseconds(200));
  bar.Show(3, 100);
  EXPECT_THAT(Printed(), HasSubstr("3 of 100"));
  bar.Show(100, 100);
  EXPECT_THAT(Printed(), HasSubstr("100 of 100")) << "the end is told at once";
  bar.Finish();
  EXPECT_EQ(Printed(), "\n");
  bar.Finish();
  EXPECT_EQ(Printed(), "") << "once";
}

TEST_F(ProgressBarTest, ItSaysHowLongTheRestWillTake) {
  ProgressBar bar(out_, OnATerminal());
  clock_.Advance(seconds(10));
  bar.Show(25, 100);
  EXPECT_THAT(Printed(), HasSubstr("25 %  25 of 100 pairs, 30 s left"));
  clock_.Advance(seconds(590));
  bar.Show(50, 100);
  EXPECT_THAT(Printed(), HasSubstr("10 min left"));
  clock_.Advance(seconds(36'000));
  bar.Show(51, 100);
  EXPECT_THAT(Printed(), HasSubstr(" h left"));
  bar.Show(100, 100);
  EXPECT_THAT(Printed(), Not(HasSubstr("left")));
}

TEST_F(ProgressBarTest, ItFills) {
  ProgressBar bar(out_, OnATerminal());
  bar.Show(0, 4);
  EXPECT_THAT(Printed(), HasSubstr("[" + std::string(30, '.') + "]"));
  clock_.Advance(seconds(1));
  bar.Show(2, 4);
  EXPECT_THAT(Printed(), HasSubstr("[" + std::string(15, '#') + std::string(15, '.') + "]"));
  bar.Show(4, 4);
  EXPECT_THAT(Printed(), HasSubstr("[" + std::string(30, '#') + "]"));
}

// The line without what rewrites it.
std::string Shown(const std::string& printed) {
  return printed.substr(printed.find('\r') + 1, printed.find('\x1b') - 1);
}

TEST_F(ProgressBarTest, ALineNeverWraps) {
  ProgressBar bar(out_, OnATerminal(/*columns=*/12));
  bar.Show(1, 100);
  EXPECT_EQ(Shown(Printed()), "  1 %  1 of ");
}

TEST_F(ProgressBarTest, TheBarLeavesTheFiguresTheirRoom) {
  for (const std::size_t columns : {79U, 41U, 40U, 33U}) {
    ProgressBar bar(out_, OnATerminal(columns));
    clock_.Advance(seconds(10));
    bar.Show(25, 100);
    const std::string line = Shown(Printed());
    EXPECT_LE(line.size(), columns);
    EXPECT_THAT(line, HasSubstr("25 %  25 of 100 pairs, 30 s left"));
    EXPECT_EQ(line[0] == '[', columns >= 41) << line;
  }
}

TEST_F(ProgressBarTest, ItNeverGoesBack) {
  ProgressBar bar(out_, OnATerminal());
  bar.Show(5, 10);
  (void)Printed();
  clock_.Advance(seconds(1));
  bar.Show(4, 10);
  EXPECT_EQ(Printed(), "") << "a thread that came late";
}

TEST_F(ProgressBarTest, WithoutAnythingToDoNothingBreaks) {
  ProgressBar bar(out_, OnATerminal());
  bar.Show(0, 0);
  bar.Finish();
  EXPECT_THAT(Printed(), HasSubstr("0 of 0"));
}

TEST_F(ProgressBarTest, ManyThreadsMayTellIt) {
  ProgressBar bar(out_, InAFile());
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([this, &bar, thread] {
        for (int done = thread; done <= 100; done += 4) {
          clock_.Advance(seconds(1));
          bar.Show(done, 100);
        }
      });
    }
  }
  EXPECT_THAT(Printed(), HasSubstr("100 of 100 pairs\n"));
}

}  // namespace
}  // namespace millrace::service
