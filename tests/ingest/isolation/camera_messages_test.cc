// Messages of a camera's process are accepted only if they are plausible.
#include "ingest/isolation/messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <limits>
#include <string>

namespace millrace::ingest {
namespace {

using std::chrono::nanoseconds;
using ::testing::HasSubstr;

constexpr std::uint32_t kSlots = 2;

// `bytes` with `value` as one of its 64-bit words. A message has four integers and two doubles.
std::string With(std::string bytes, std::size_t word, std::int64_t value) {
  std::memcpy(bytes.data() + 8 * word, &value, sizeof(value));
  return bytes;
}
std::string With(std::string bytes, std::size_t word, double value) {
  std::memcpy(bytes.data() + 8 * word, &value, sizeof(value));
  return bytes;
}

bool IsRefused(const std::string& bytes) {
  return absl::IsInvalidArgument(Decode(bytes, kSlots).status());
}

template <typename T>
T Again(const T& message) {
  const absl::StatusOr<FromCamera> read = Decode(Encode(message), kSlots);
  EXPECT_TRUE(read.ok()) << read.status();
  return std::get<T>(*read);
}

TEST(CameraMessagesTest, WhatIsSaidIsReadAsItWas) {
  const auto format = Again(CameraFormat{
      .width = 704, .height = 576, .frames_per_second = 25, .pixel_aspect = 12.0 / 11});
  EXPECT_EQ(format.shown(), (Extent{.width = 768, .height = 576}));
  EXPECT_EQ(format.frames_per_second, 25);

  const auto picture = Again(PictureInSlot{
      .slot = 1, .stream_time = nanoseconds(0), .camera_time = nanoseconds(-5'000'000'000)});
  EXPECT_EQ(picture.slot, 1u);
  EXPECT_EQ(picture.stream_time, nanoseconds(0));
  EXPECT_FALSE(picture.duration.has_value());
  EXPECT_EQ(picture.camera_time, nanoseconds(-5'000'000'000));

  EXPECT_EQ(Again(PipelineOutcome{absl::NotFoundError("no such path")}).status,
            absl::NotFoundError("no such path"));
  EXPECT_TRUE(Again(PipelineOutcome{absl::OkStatus()}).status.ok());
  EXPECT_EQ(Again(PipelineWarning{absl::UnavailableError("it is slow")}).status,
            absl::UnavailableError("it is slow"));
  EXPECT_EQ(Again(PipelineCodec{"H.264 (High Profile)"}).name, "H.264 (High Profile)");
  EXPECT_EQ(Again(LogLine{.level = 3, .text = "GLib: a line"}).text, "GLib: a line");
  EXPECT_EQ(Again(ProcessEnded{.wait_status = SIGSEGV}).wait_status, SIGSEGV);
}

TEST(CameraMessagesTest, ASlotThatDoesNotExistIsRefused) {
  const std::string picture = Encode(PictureInSlot{.slot = kSlots});
  EXPECT_TRUE(IsRefused(picture));
  EXPECT_TRUE(IsRefused(With(picture, 1, std::int64_t{-1})));
  EXPECT_TRUE(IsRefused(With(picture, 1, std::int64_t{1} << 32)));  // 0, if it were cut.
}

TEST(CameraMessagesTest, TimesThatWouldOverflowAreRefused) {
  const std::string picture = Encode(PictureInSlot{});
  for (const std::size_t word : {2, 3, 4}) {
    EXPECT_TRUE(IsRefused(With(picture, word, std::numeric_limits<std::int64_t>::max())));
    EXPECT_TRUE(IsRefused(With(picture, word, std::numeric_limits<std::int64_t>::min() + 1)));
  }
}

// A median of steps is taken five times, and added to others.
TEST(CameraMessagesTest, TimesAreSoShortThatSumsOfThemAreWholeNumbers) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  const std::string picture = Encode(PictureInSlot{});
  for (const std::size_t word : {2, 3}) {
    EXPECT_TRUE(IsRefused(With(picture, word, kMax / 10)));
    EXPECT_FALSE(IsRefused(With(picture, word, std::int64_t{1} << 58)));
  }
  EXPECT_TRUE(IsRefused(With(picture, 4, kMax / 2)));
  EXPECT_TRUE(IsRefused(With(picture, 4, -kMax / 2)));
  // NTP begins in 1900, and its first era ends in 2036.
  for (const std::int64_t second : {std::int64_t{-2'208'988'800}, std::int64_t{2'085'978'496}}) {
    EXPECT_FALSE(IsRefused(With(picture, 4, second * 1'000'000'000)));
  }
}

TEST(CameraMessagesTest, FormatsThatNoCameraHasAreRefused) {
  const std::string format = Encode(CameraFormat{.width = 640, .height = 480});
  ASSERT_FALSE(IsRefused(format));
  for (const std::size_t word : {1, 2}) {
    for (const std::int64_t side : {std::int64_t{0}, std::int64_t{-640}, std::int64_t{65536},
                                    (std::int64_t{1} << 32) + 640}) {
      EXPECT_TRUE(IsRefused(With(format, word, side)));
    }
  }
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinite = std::numeric_limits<double>::infinity();
  for (const double value : {nan, infinite, -1.0}) {
    EXPECT_TRUE(IsRefused(With(format, 5, value)));  // The rate.
    EXPECT_TRUE(IsRefused(With(format, 6, value)));  // The shape of a pixel.
  }
  EXPECT_TRUE(IsRefused(With(format, 6, 0.0)));
}

TEST(CameraMessagesTest, WhatIsCutOrNoMessageIsRefused) {
  const std::string line = Encode(LogLine{.level = 2, .text = "a line of the log"});
  for (std::size_t size = 0; size < line.size(); ++size) {
    EXPECT_TRUE(IsRefused(line.substr(0, size))) << size;
  }
  EXPECT_TRUE(IsRefused(line + "x"));
  EXPECT_TRUE(IsRefused(With(line, 0, std::int64_t{99})));
  EXPECT_TRUE(IsRefused(With(line, 1, std::int64_t{7})));
  EXPECT_TRUE(IsRefused(With(Encode(PipelineOutcome{absl::OkStatus()}), 1, std::int64_t{17})));
}

TEST(CameraMessagesTest, TextsAreCutAndCleaned) {
  const std::string long_text(3 * kMaxTextBytes, 'x');
  EXPECT_EQ(Again(PipelineCodec{long_text}).name.size(), kMaxTextBytes);
  EXPECT_LE(Encode(PipelineCodec{long_text}).size(), kMaxMessageBytes);
  EXPECT_EQ(Again(PipelineCodec{"two\nlines\x1b[2J"}).name, "two lines [2J");
  EXPECT_EQ(Again(PipelineCodec{"\xff"}).name, "\xef\xbf\xbd");  // Not UTF-8: U+FFFD.
}

TEST(CameraMessagesTest, HowAProcessEndedIsSaidInWords) {
  const auto why = [](const ProcessEnded& ended) {
    const absl::Status status = WhyEnded(ended);
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    return std::string(status.message());
  };
  EXPECT_THAT(why({.wait_status = SIGSEGV}),
              HasSubstr("crashed (SIGSEGV), most likely over what the camera sent"));
  EXPECT_THAT(why({.wait_status = SIGABRT}), HasSubstr("gave up (SIGABRT), as when it wants more"));
  EXPECT_THAT(why({.wait_status = SIGKILL}), HasSubstr("was ended (SIGKILL), as the system does"));
  EXPECT_EQ(why({.wait_status = SIGTERM}), "its process was ended (SIGTERM)");
  EXPECT_THAT(why({.wait_status = 3 << 8}), HasSubstr("ended with code 3"));
  EXPECT_THAT(why({.wait_status = kExitNotConfined << 8}), HasSubstr("set source.isolate: false"));
  EXPECT_THAT(why({.wait_status = kExitThrew << 8}), HasSubstr("its process failed"));
  EXPECT_THAT(why({.wait_status = kExitNoTask << 8}), HasSubstr("no memory for pictures"));
  EXPECT_THAT(why({.fork_error = EAGAIN}), HasSubstr("no process can be started for it: "));
}

}  // namespace
}  // namespace millrace::ingest
