#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "ingest/inputs/open_source.h"
#include "tests/ingest/support/logged.h"
#include "tests/ingest/support/media.h"

namespace millrace::ingest {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

std::unique_ptr<Source> Open(const SourceOptions& options, const IngestSettings& settings = {}) {
  absl::StatusOr<std::unique_ptr<Source>> source = OpenSource(options, settings);
  EXPECT_TRUE(source.ok()) << source.status();
  return source.ok() ? *std::move(source) : nullptr;
}

std::vector<Frame> PopAll(Source& source) {
  std::vector<Frame> frames;
  while (std::optional<Frame> frame = source.queue().Pop()) frames.push_back(*std::move(frame));
  return frames;
}

TEST(FileSourceTest, DeliversEveryFrameOfRealFootageInOrder) {
  const auto source = Open({.uri = SampleVideo(), .width = 64, .height = 48});
  std::shared_ptr<const Picture> previous;
  std::int64_t number = 0;
  while (const std::optional<Frame> frame = source->queue().Pop()) {
    EXPECT_EQ(frame->number, number);
    EXPECT_EQ(frame->epoch, 0);
    EXPECT_EQ(frame->stream_time, milliseconds(100) * number);
    EXPECT_EQ(frame->picture->rgb.size(), 64u * 48 * 3);
    EXPECT_EQ(frame->previous, previous);
    EXPECT_EQ(frame->predecessor, number == 0 ? NoPredecessor::kFirst : NoPredecessor::kHasOne);
    EXPECT_EQ(frame->camera_time, std::nullopt);
    previous = frame->picture;
    ++number;
  }
  EXPECT_EQ(number, 795);
  const SourceStatus status = source->status();
  EXPECT_EQ(status.state, SourceState::kEnded);
  EXPECT_TRUE(status.cause.ok());
  EXPECT_EQ(status.camera_width, 768);
  EXPECT_EQ(status.camera_height, 576);
  EXPECT_EQ(status.camera_frames_per_second, 10);
}

TEST(FileSourceTest, LosesNothingWhenTheLearnerIsSlow) {
  const TemporaryFolder folder;
  const std::string path = folder / "movie.mp4";
  WriteMovie(path, /*frames=*/60, /*frames_per_second=*/30);
  const auto source = Open({.uri = path, .queue_capacity = 3});
  FrameQueue& queue = source->queue();
  for (std::int64_t number = 0; number < 60; ++number) {
    WaitUntil([&] { return queue.waiting() == 3 || number + 3 > 60; });
    EXPECT_EQ(queue.Pop().value().number, number);
  }
  EXPECT_EQ(queue.Pop(), std::nullopt);
  EXPECT_EQ(queue.received(), 60u);
  EXPECT_EQ(queue.dropped(), 0u);
}

TEST(FileSourceTest, LoopsInNewEpochs) {
  const TemporaryFolder folder;
  const std::string path = folder / "movie.mp4";
  WriteMovie(path, /*frames=*/20, /*frames_per_second=*/30);
  const auto source = Open({.uri = path, .loop = true});
  for (std::int64_t number = 0; number < 70; ++number) {
    const Frame frame = source->queue().Pop().value();
    EXPECT_EQ(frame.number, number);
    EXPECT_EQ(frame.epoch, number / 20);
    EXPECT_EQ(frame.previous == nullptr, number % 20 == 0);
    EXPECT_EQ(frame.predecessor, number % 20 == 0 ? NoPredecessor::kFirst : NoPredecessor::kHasOne);
  }
  source->Stop();
  EXPECT_EQ(source->status().state, SourceState::kStopped);
}

// Between a picture and the next, of another shape, nothing has moved: no pair is made of the two.
TEST(FileSourceTest, AnotherSizeBeginsAnEpoch) {
  const TemporaryFolder folder;
  const std::string path = folder / "movie.h264";
  std::ofstream movie(path, std::ios::binary);
  for (const std::string size : {"width=160,height=120", "width=320,height=120"}) {
    const std::string part = folder / "part.h264";
    RunPipeline("videotestsrc pattern=ball num-buffers=10 ! video/x-raw,framerate=30/1," + size +
                " ! x264enc speed-preset=ultrafast bframes=0 ! video/x-h264,stream-format="
                "byte-stream,alignment=au ! filesink location=" +
                part);
    movie << std::ifstream(part, std::ios::binary).rdbuf();
  }
  movie.close();
  const auto source = Open({.uri = path});
  const std::vector<Frame> frames = PopAll(*source);
  ASSERT_EQ(frames.size(), 20U);
  for (const Frame& frame : frames) {
    EXPECT_EQ(frame.epoch, frame.number / 10);
    EXPECT_EQ(frame.previous == nullptr, frame.number % 10 == 0) << frame.number;
    EXPECT_EQ(frame.size_changes, frame.number / 10);
  }
  EXPECT_EQ(source->status().camera_width, 320);
  EXPECT_EQ(source->status().size_changes, 1) << "the first size is no change";
}

TEST(FileSourceTest, LoopsRealFootage) {
  const auto source = Open({.uri = SampleVideo(), .width = 64, .height = 48, .loop = true});
  Frame first;
  for (std::int64_t number = 0; number < 800; ++number) {
    const Frame frame = source->queue().Pop().value();
    if (number == 0) first = frame;
    EXPECT_EQ(frame.number, number);
    EXPECT_EQ(frame.epoch, number / 795);
    if (number == 795) {
      EXPECT_EQ(frame.picture->rgb, first.picture->rgb);
    }
  }
}

TEST(FileSourceTest, LoopingLeavesNothingOpen) {
  const TemporaryFolder folder;
  const std::string path = folder / "movie.mp4";
  WriteMovie(path, /*frames=*/2, /*frames_per_second=*/30);
  const auto source = Open({.uri = path, .loop = true});
  const auto play_rounds = [&](std::int64_t until) {
    while (source->queue().Pop().value().epoch < until) continue;
  };
  play_rounds(5);
  const std::ptrdiff_t before = OpenFiles();
  play_rounds(25);
  EXPECT_LE(OpenFiles(), before + 10) << "20 rounds more";
}

// A fake clock makes this exact: each frame comes at its time by the clock, and not before. The
// times show no step where the file starts again.
TEST(FileSourceTest, KeepsACamerasTimeOverTheEndOfTheFile) {
  const TemporaryFolder folder;
  const std::string path = folder / "movie.mp4";
  WriteMovie(path, /*frames=*/15, /*frames_per_second=*/50);
  FakeClock clock(std::chrono::hours(1));
  const auto source = Open({.uri = path, .loop = true, .as_camera = true}, {.clock = &clock});
  for (int number = 0; number < 50; ++number) {
    const Frame frame = source->queue().Pop().value();
    EXPECT_EQ(frame.number, number);
    EXPECT_EQ(frame.epoch, number / 15);
    EXPECT_EQ(frame.arrival, std::chrono::hours(1) + milliseconds(20) * number);
    EXPECT_EQ(source->queue().waiting(), 0u);
    clock.Advance(milliseconds(20));
  }
}

TEST(FileSourceTest, AsACameraNeverWaitsForTheLearner) {
  const TemporaryFolder folder;
  const std::string path = folder / "movie.mp4";
  WriteMovie(path, /*frames=*/40, /*frames_per_second=*/100);
  const auto source = Open({.uri = path, .as_camera = true, .queue_capacity = 2});
  WaitUntil([&] { return source->status().state == SourceState::kEnded; });

  const FrameQueue& queue = source->queue();
  EXPECT_EQ(queue.received(), 40u);
  EXPECT_EQ(queue.dropped(), 38u);
  EXPECT_EQ(queue.waiting(), 2u);
  const std::vector<Frame> frames = PopAll(*source);
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0].number, 38);
  EXPECT_NE(frames[0].previous, nullptr) << "though frame 37 itself was dropped";
  EXPECT_EQ(frames[1].previous, frames[0].picture);
}

TEST(FileSourceTest, ShowsTheSamePictureAsTheSlowAndObviousPath) {
  constexpr int kNumber = 100;
  // The second size has rows that GStreamer pads, and another shape than the camera's.
  for (const auto& [width, height] : {std::pair(320, 240), std::pair(321, 123)}) {
    const auto source = Open({.uri = SampleVideo(), .width = width, .height = height});
    Frame frame;
    for (int i = 0; i <= kNumber; ++i) frame = source->queue().Pop().value();
    const Picture expected = SlowlyDecoded(SampleVideo(), kNumber, width, height);
    const Picture other = SlowlyDecoded(SampleVideo(), kNumber + 20, width, height);
    // Scaling filters differ the more, the less is cropped away of a picture's detail.
    EXPECT_LT(Difference(*frame.picture, expected), 4.5);
    EXPECT_LT(Difference(*frame.picture, expected), 0.7 * Difference(*frame.picture, other));
  }
}

TEST(FileSourceTest, PlaysAFileUnderAnyName) {
  const TemporaryFolder folder;
  const std::string path = folder / "my street, 100%!.mp4";
  const std::string movie = folder / "movie.mp4";
  WriteMovie(movie, /*frames=*/3, /*frames_per_second=*/30);
  std::filesystem::rename(movie, path);
  EXPECT_EQ(PopAll(*Open({.uri = path})).size(), 3u);
  EXPECT_EQ(PopAll(*Open({.uri = "file://" + folder / "my%20street,%20100%25!.mp4"})).size(), 3u);
}

TEST(FileSourceTest, EndsWhereATruncatedFileEnds) {
  const TemporaryFolder folder;
  const std::string path = folder / "half.avi";
  std::filesystem::copy_file(SampleVideo(), path);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 4);
  const std::vector<Frame> frames = PopAll(*Open({.uri = path, .width = 64, .height = 48}));
  EXPECT_GT(frames.size(), 50u);
  EXPECT_LT(frames.size(), 795u);
}

TEST(FileSourceTest, FailsWhenALoopedFileIsGone) {
  const Logged logged;
  const TemporaryFolder folder;
  const std::string path = folder / "movie.mp4";
  WriteMovie(path, /*frames=*/20, /*frames_per_second=*/30);
  const auto source = Open({.uri = path, .loop = true});
  std::filesystem::remove(path);
  EXPECT_GE(PopAll(*source).size(), 20u);
  EXPECT_THAT(logged.text(), testing::StartsWith("error " + path + ": failed: "));
  EXPECT_EQ(source->status().state, SourceState::kFailed);
  EXPECT_EQ(source->status().cause.code(), absl::StatusCode::kNotFound);
}

// Each of these hangs, and is killed by the test's timeout, if the pipe or device is opened.
TEST(FileSourceTest, APipeOrDeviceIsRefusedAtOnce) {
  const TemporaryFolder folder;
  const std::string pipe = folder / "movie.mp4";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {pipe, std::string("/dev/zero")}) {
    const absl::Status refused = OpenSource({.uri = path}).status();
    EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()),
                testing::HasSubstr(path + ": it cannot be read: it is a pipe, socket or device"));
  }
}

TEST(FileSourceTest, FailsWhenALoopedFileIsAPipeNow) {
  const TemporaryFolder folder;
  const std::string path = folder / "movie.mp4";
  WriteMovie(path, /*frames=*/20, /*frames_per_second=*/30);
  const auto source = Open({.uri = path, .loop = true});
  std::filesystem::remove(path);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_GE(PopAll(*source).size(), 20u);
  EXPECT_EQ(source->status().cause.code(), absl::StatusCode::kInvalidArgument);
}

TEST(FileSourceTest, PlaysWhatALinkLeadsTo) {
  const TemporaryFolder folder;
  WriteMovie(folder / "movie.mp4", /*frames=*/3, /*frames_per_second=*/30);
  std::filesystem::create_symlink("movie.mp4", folder / "link.mp4");
  EXPECT_EQ(PopAll(*Open({.uri = folder / "link.mp4"})).size(), 3u);
}

TEST(FileSourceTest, AStatusIsOfOneMoment) {
  const TemporaryFolder folder;
  const std::string path = folder / "movie.mp4";
  WriteMovie(path, /*frames=*/2, /*frames_per_second=*/30);
  for (int i = 0; i < 20; ++i) {
    const auto source = Open({.uri = path});
    SourceStatus status;
    do {
      status = source->status();
      ASSERT_EQ(status.entered[static_cast<std::size_t>(status.state)], 1) << Name(status.state);
    } while (status.state != SourceState::kEnded);
  }
}

// Each of these hangs, and is killed by the test's timeout, if Stop() cannot wake the file's
// threads.
TEST(FileSourceTest, StopsWhileItWaitsForRoom) {
  const auto source = Open({.uri = SampleVideo(), .queue_capacity = 1});
  WaitUntil([&] { return source->queue().waiting() == 1; });
  source->Stop();
  source->Stop();
  EXPECT_EQ(source->status().state, SourceState::kStopped);
  const std::size_t left = PopAll(*source).size();
  EXPECT_EQ(left, 1u);
  EXPECT_EQ(source->queue().received(), left + source->queue().rejected_after_close());
}

TEST(FileSourceTest, StopsWhileItWaitsForTheNextFramesTime) {
  FakeClock clock;
  const auto source = Open({.uri = SampleVideo(), .as_camera = true}, {.clock = &clock});
  EXPECT_TRUE(source->queue().Pop().has_value());
  source->Stop();
  EXPECT_EQ(source->status().state, SourceState::kStopped);
}

}  // namespace
}  // namespace millrace::ingest
