#include "service/progress.h"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/service/web_fakes.h"

namespace millrace::service {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(ProgressLineTest, SaysWhatMatters) {
  const std::string line = ProgressLine(LearningSnapshot("street"));
  for (const char* part : {"405 frames", "10.0/s in", "9.9/s out", "delay 134 ms, p99 171",
                           "loss 0.74 of no motion", "dropped 4"}) {
    EXPECT_THAT(line, HasSubstr(part));
  }
}

TEST(ProgressLineTest, FitsAHundredColumnsWhateverTheFigures) {
  for (std::uint64_t count : {0UL, 9UL, 99'999UL, 123'456'789UL, 99'999'999'999'999UL}) {
    for (double rate : {0.0, 9.96, 99.94, 2000.0}) {
      for (double delay : {0.0, 0.0123, 0.9994, 0.9996, 12.3, 86400.0}) {
        StreamSnapshot stream = LearningSnapshot("street");
        stream.frames.predicted = count;
        stream.frames.dropped[0] = count;
        stream.frames_per_second_in = stream.predictions_per_second = rate;
        stream.delay_p50_s = stream.delay_p99_s = delay;
        stream.loss = static_cast<double>(count);
        const std::string line = ProgressLine(stream);
        EXPECT_LE(line.size(), kProgressColumns) << line;
        EXPECT_THAT(line, HasSubstr("dropped ")) << "cut off";
      }
    }
  }
}

TEST(ProgressLineTest, ShowsADashForWhatIsUnknown) {
  StreamSnapshot stream = LearningSnapshot("street");
  stream.loss = stream.loss_no_motion = stream.delay_p50_s = stream.delay_p99_s = 0;
  EXPECT_THAT(ProgressLine(stream), HasSubstr("delay -"));
  EXPECT_THAT(ProgressLine(stream), HasSubstr("loss -"));
  EXPECT_THAT(ProgressLine(stream), Not(HasSubstr("nan")));
}

TEST(ProgressLineTest, SaysWhyACameraIsAway) {
  StreamSnapshot stream = LearningSnapshot("street");
  stream.source.state = ingest::SourceState::kBackingOff;
  stream.source.cause = absl::UnavailableError("rtsp://camera/1: connection\nrefused");
  EXPECT_THAT(ProgressLine(stream),
              HasSubstr("the camera is away: rtsp://camera/1: connection refused"));
}

TEST(ProgressLineTest, SaysWhyALearnerFailed) {
  StreamSnapshot stream = LearningSnapshot("street");
  stream.learner = absl::InternalError("out of memory");
  EXPECT_THAT(ProgressLine(stream), HasSubstr("the learner failed: out of memory"));
}

TEST(ProgressLineTest, AddsStreamsUp) {
  std::vector<StreamSnapshot> streams = {LearningSnapshot("gate"), LearningSnapshot("yard")};
  streams[1].delay_p99_s = 0.3;
  streams[1].source.state = ingest::SourceState::kConnecting;
  const std::string line = ProgressLine(streams);
  for (const char* part :
       {"2 streams, 1 not learning", "20.0/s in", "p99 300", "loss 0.74", "dropped 8"}) {
    EXPECT_THAT(line, HasSubstr(part));
  }
  EXPECT_LE(line.size(), kProgressColumns);
}

TEST(ProgressPrinterTest, RewritesOneLineOnATerminal) {
  std::ostringstream out;
  ProgressPrinter printer(out, /*rewrites=*/true);
  const std::vector<StreamSnapshot> streams = {LearningSnapshot("street")};
  printer.Show(streams, /*columns=*/40);
  printer.Show(streams, /*columns=*/40);
  EXPECT_THAT(out.str(), StartsWith("\r"));
  EXPECT_THAT(out.str(), Not(HasSubstr("\n")));
  EXPECT_EQ(out.str().size(), 2 * (1 + 40 + 3)) << "carriage return, 40 columns, erase the rest";
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
  EXPECT_THAT(out.str(), EndsWith("dropped 4\n"));
  EXPECT_THAT(out.str(), Not(HasSubstr("\x1b")));
}

TEST(ShortCountTest, KeepsFiveDigits) {
  EXPECT_EQ(ShortCount(0), "0");
  EXPECT_EQ(ShortCount(99'999), "99999");
  EXPECT_EQ(ShortCount(100'000), "100k");
  EXPECT_EQ(ShortCount(99'999'999), "99999k");
  EXPECT_EQ(ShortCount(100'000'000), "100M");
  EXPECT_EQ(ShortCount(100'000'000'000), "100G");
}

}  // namespace
}  // namespace millrace::service
