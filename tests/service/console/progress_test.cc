#include "service/console/progress.h"

#include <algorithm>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/service/support/web_fakes.h"

namespace millrace::service {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(ProgressLineTest, SaysWhatMatters) {
  const std::string line = ProgressLine(LearningSnapshot("street"));
  for (const char* part :
       {"405 frames", "10.0/s in", "9.9/s out", "delay 134 ms", "explains 26 %", "dropped 4"}) {
    EXPECT_THAT(line, HasSubstr(part));
  }
  EXPECT_THAT(line, Not(HasSubstr("p99")));
}

TEST(ProgressLineTest, VerboseAddsTheLongDelays) {
  StreamSnapshot stream = LearningSnapshot("street");
  stream.delay_p50_s = 0.8;
  stream.delay_p99_s = 1.25;
  EXPECT_THAT(ProgressLine(stream), HasSubstr("  delay 800 ms  dropped"));
  EXPECT_THAT(ProgressLine(stream, {.verbose = true}), HasSubstr("  delay 800 ms, p99 1.25 s  "));
}

TEST(ProgressLineTest, FitsAHundredColumnsWhateverTheFigures) {
  for (std::uint64_t count : {0UL, 9UL, 99'999UL, 123'456'789UL, 99'999'999'000'000UL}) {
    for (double rate : {0.0, 9.96, 99.94, 2000.0}) {
      for (double delay : {0.0, 0.0123, 0.9994, 0.9996, 12.3, 86400.0}) {
        StreamSnapshot stream = LearningSnapshot("street");
        stream.frames.predicted = count;
        stream.frames.dropped[0] = count;
        stream.frames_per_second_in = stream.predictions_per_second = rate;
        stream.delay_p50_s = stream.delay_p99_s = delay;
        stream.recent.loss = static_cast<double>(count);
        stream.recent.spurious_share = rate > 9.95 ? 1 : 0;
        for (const bool verbose : {false, true}) {
          const std::string line = ProgressLine(stream, {.verbose = verbose});
          EXPECT_LE(line.size(), kProgressColumns) << line;
          EXPECT_THAT(line, HasSubstr("dropped ")) << "cut off";
        }
      }
    }
  }
}

TEST(ProgressLineTest, ShowsADashForWhatIsUnknown) {
  StreamSnapshot stream = LearningSnapshot("street");
  stream.recent.loss = stream.recent.loss_no_motion = 0;
  stream.delay_p50_s = stream.delay_p99_s = 0;
  EXPECT_THAT(ProgressLine(stream), HasSubstr("delay -"));
  EXPECT_THAT(ProgressLine(stream), EndsWith("explains -"));
  EXPECT_THAT(ProgressLine(stream), Not(HasSubstr("nan")));
}

TEST(ProgressLineTest, SaysThatAModelSeesMotionWhereNothingMoves) {
  StreamSnapshot stream = LearningSnapshot("street");
  stream.recent.spurious_share = 0.9;
  EXPECT_THAT(ProgressLine(stream), HasSubstr("explains only noise"));
  EXPECT_THAT(ProgressLine(stream), Not(HasSubstr("26 %")));
}

TEST(ProgressLineTest, SaysWhatIsGivenUpUnderOverload) {
  StreamSnapshot stream = LearningSnapshot("street");
  stream.overload = {
      .kind = OverloadKind::kDrops, .received_per_second = 25, .dropped_per_second = 20};
  EXPECT_THAT(ProgressLine(stream),
              StartsWith("  405 frames  drops 20.0 of 25.0 frames a second  "));
  EXPECT_LE(ProgressLine(stream).size(), kProgressColumns);
  const std::vector<StreamSnapshot> streams = {stream, LearningSnapshot("yard")};
  EXPECT_THAT(ProgressLine(streams), HasSubstr("2 streams, 1 overloaded"));
  stream.overload = {.kind = OverloadKind::kLearnsLess, .update_every = 4};
  EXPECT_THAT(ProgressLine(stream), Not(HasSubstr("one frame in"))) << "as planned";
}

TEST(ProgressLineTest, SaysWhyACameraIsAway) {
  StreamSnapshot stream = LearningSnapshot("street");
  stream.source.state = ingest::SourceState::kBackingOff;
  stream.source.cause = absl::UnavailableError("rtsp://camera/1: connection\nrefused");
  EXPECT_THAT(ProgressLine(stream),
              HasSubstr("the camera is away: rtsp://camera/1: connection refused"));
}

TEST(ProgressLineTest, SaysThatNobodyPushes) {
  StreamSnapshot stream = LearningSnapshot("door");
  stream.source.state = ingest::SourceState::kWaiting;
  EXPECT_THAT(ProgressLine(stream), HasSubstr("no client pushes frames"));
  EXPECT_THAT(ProgressLine(stream), Not(HasSubstr("camera")));
}

TEST(ProgressLineTest, SaysWhyALearnerFailed) {
  StreamSnapshot stream = LearningSnapshot("street");
  stream.learner = absl::InternalError("out of memory");
  EXPECT_THAT(ProgressLine(stream), HasSubstr("the learner failed: out of memory"));
}

TEST(ProgressLineTest, AddsStreamsUp) {
  std::vector<StreamSnapshot> streams = {LearningSnapshot("gate"), LearningSnapshot("yard")};
  EXPECT_THAT(ProgressLine(streams), HasSubstr("explains 26 %"));
  streams[1].delay_p99_s = 0.3;
  streams[1].source.state = ingest::SourceState::kConnecting;
  const std::string line = ProgressLine(streams, {.verbose = true});
  for (const char* part : {"2 streams, 1 not learning", "20.0/s in", "p99 300 ms", "dropped 8"}) {
    EXPECT_THAT(line, HasSubstr(part));
  }
  EXPECT_LE(line.size(), kProgressColumns);
}

// A figure that is cut off is another figure.
TEST(ProgressLineTest, ShowsWholeFiguresOnly) {
  const StreamSnapshot stream = LearningSnapshot("street");
  const std::string all = ProgressLine(stream);
  std::size_t longest = 0;
  for (std::size_t columns = 10; columns <= kProgressColumns; ++columns) {
    const std::string line = ProgressLine(stream, {.columns = columns});
    EXPECT_LE(line.size(), columns);
    EXPECT_GE(line.size(), longest);
    longest = std::max(longest, line.size());
    if (columns < 12) continue;  // "  405 frames"
    EXPECT_THAT(all, StartsWith(line));
    EXPECT_TRUE(line == all || all.substr(line.size(), 2) == "  ") << line;
  }
  EXPECT_EQ(longest, all.size());
}

TEST(ProgressLineTest, WhereAnEndIsSetItSaysHowLongTheRestTakes) {
  StreamSnapshot stream = LearningSnapshot("street");
  EXPECT_THAT(ProgressLine(stream, {.frames = 504}),
              StartsWith("  [######..] 405 of 504 frames  10 s left  10.0/s in"));
  EXPECT_THAT(ProgressLine(stream, {.frames = 405}),
              StartsWith("  [########] 405 of 405 frames  10.0/s in"));
  EXPECT_THAT(ProgressLine(stream, {.frames = 300}), StartsWith("  [########] 300 of 300"));
  stream.predictions_per_second = 0;
  EXPECT_THAT(ProgressLine(stream, {.frames = 504}), Not(HasSubstr("left")));
  stream.learner = absl::InternalError("out of memory");
  EXPECT_THAT(ProgressLine(stream, {.frames = 504}),
              HasSubstr("405 of 504 frames  the learner failed: out of memory"));
}

TEST(ProgressLineTest, OfSeveralStreamsTheSlowestSaysHowLong) {
  std::vector<StreamSnapshot> streams = {LearningSnapshot("gate"), LearningSnapshot("yard")};
  streams[1].frames.predicted = 101;
  EXPECT_THAT(ProgressLine(streams, {.frames = 1001}),
              StartsWith("  [........] 101 of 1001 frames  2 min left  2 streams  20.0/s in"));
}

TEST(ProgressPrinterTest, RewritesOneLineOnATerminal) {
  std::ostringstream out;
  ProgressPrinter printer(out, /*rewrites=*/true);
  const std::vector<StreamSnapshot> streams = {LearningSnapshot("street")};
  printer.Show(streams, /*columns=*/40);
  printer.Show(streams, /*columns=*/40);
  EXPECT_THAT(out.str(), StartsWith("\r"));
  EXPECT_THAT(out.str(), Not(HasSubstr("\n")));
  EXPECT_EQ(out.str(),
            "\r  405 frames  10.0/s in  9.9/s out\x1b[K"
            "\r  405 frames  10.0/s in  9.9/s out\x1b[K");
  printer.Finish();
  printer.Finish();
  EXPECT_THAT(out.str(), EndsWith("K\n"));
}

TEST(ProgressPrinterTest, PrintsALineForEachStreamElsewhere) {
  std::ostringstream out;
  ProgressPrinter printer(out, /*rewrites=*/false);
  printer.Show(std::vector<StreamSnapshot>{LearningSnapshot("gate"), LearningSnapshot("yard")}, 40);
  printer.Finish();
  EXPECT_THAT(out.str(), StartsWith("gate:  405 frames"));
  EXPECT_THAT(out.str(), HasSubstr("\nyard:  405 frames"));
  EXPECT_THAT(out.str(), EndsWith("explains 26 %\n"));
  EXPECT_THAT(out.str(), Not(HasSubstr("\x1b")));
}

TEST(ShortCountTest, HasFiveCharactersAtMost) {
  EXPECT_EQ(ShortCount(0), "0");
  EXPECT_EQ(ShortCount(99'999), "99999");
  EXPECT_EQ(ShortCount(100'000), "100k");
  EXPECT_EQ(ShortCount(9'999'999), "9999k");
  EXPECT_EQ(ShortCount(10'000'000), "10M");
  EXPECT_EQ(ShortCount(10'000'000'000), "10G");
  EXPECT_EQ(ShortCount(10'000'000'000'000), "10T");
}

}  // namespace
}  // namespace millrace::service
