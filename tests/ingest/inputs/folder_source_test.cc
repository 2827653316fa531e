// Images of a folder as a video.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "ingest/inputs/open_source.h"
#include "tests/ingest/support/logged.h"
#include "tests/ingest/support/media.h"

namespace millrace::ingest {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::HasSubstr;

class FolderSourceTest : public testing::Test {
 protected:
  /// Writes `count` images, 0.ENDING and so on, each 160 x 120.
  void Write(int count, const std::string& encoder, const std::string& ending) const {
    RunPipeline("videotestsrc pattern=ball num-buffers=" + std::to_string(count) +
                " ! video/x-raw,format=RGB,width=160,height=120 ! " + encoder +
                " ! multifilesink location=" + (folder_ / ("%d." + ending)));
  }
  std::unique_ptr<Source> Open(SourceOptions options) const {
    if (options.uri.empty()) options.uri = folder_.path();
    auto source = OpenSource(options);
    EXPECT_TRUE(source.ok()) << source.status();
    return source.ok() ? *std::move(source) : nullptr;
  }
  [[nodiscard]] absl::Status WhyNot(const std::string& uri) const {
    return OpenSource({.uri = uri}).status();
  }

  const TemporaryFolder folder_;
};

TEST_F(FolderSourceTest, ShowsEachImageOnceInNaturalOrder) {
  Write(12, "pngenc", "png");
  const auto source = Open({.uri = "", .width = 160, .height = 120, .images_per_second = 10});
  std::shared_ptr<const Picture> previous;
  for (int i = 0; i < 12; ++i) {
    const Frame frame = source->queue().Pop().value();
    EXPECT_EQ(frame.number, i);
    EXPECT_EQ(frame.stream_time, milliseconds(100) * i);
    const std::string path = folder_ / (std::to_string(i) + ".png");
    EXPECT_EQ(frame.picture->rgb, SlowlyDecoded(path, 0, 160, 120).rgb) << i;
    EXPECT_EQ(frame.previous, previous);
    previous = frame.picture;
  }
  EXPECT_EQ(source->queue().Pop(), std::nullopt);
  const SourceStatus status = source->status();
  EXPECT_EQ(status.state, SourceState::kEnded);
  EXPECT_EQ(status.camera_width, 160);
  EXPECT_EQ(status.camera_frames_per_second, 10);
}

TEST_F(FolderSourceTest, LoopsInNewEpochs) {
  Write(3, "jpegenc", "jpg");
  const auto source = Open({.uri = folder_ / "*.jpg", .loop = true});
  for (int i = 0; i < 8; ++i) {
    const Frame frame = source->queue().Pop().value();
    EXPECT_EQ(frame.epoch, i / 3);
    EXPECT_EQ(frame.previous == nullptr, i % 3 == 0);
  }
  source->Stop();
  EXPECT_EQ(source->status().state, SourceState::kStopped);
}

TEST_F(FolderSourceTest, KeepsACamerasTime) {
  Write(4, "jpegenc", "jpg");
  FakeClock clock{std::chrono::seconds(100)};
  IngestSettings settings;
  settings.clock = &clock;
  auto source = OpenSource(
      {.uri = folder_.path(), .as_camera = true, .images_per_second = 0.001, .queue_capacity = 4},
      settings);
  ASSERT_TRUE(source.ok()) << source.status();
  WaitUntil([&] { return (*source)->queue().received() == 1; });
  (*source)->Stop();  // It does not wait for the next one to be due.
  EXPECT_EQ((*source)->queue().received(), 1u);
}

TEST_F(FolderSourceTest, LeavesOutWhatCannotBeReadAndSaysSoOnce) {
  Write(4, "pngenc", "png");
  std::ofstream(folder_ / "1.png") << "text";
  const Logged logged;
  const auto source = Open({.uri = "", .loop = true});
  for (int i = 0; i < 7; ++i) {
    const Frame frame = source->queue().Pop().value();
    // 0 | 2 3 | 0 | 2 3 ...: a new epoch behind the hole, and with each round.
    EXPECT_EQ(frame.previous == nullptr, i % 3 != 2) << i;
  }
  source->Stop();
  const std::string text = logged.text();
  const std::size_t said = text.find("1.png: this is neither a JPEG nor a PNG image");
  EXPECT_NE(said, std::string::npos) << text;
  EXPECT_EQ(text.find("1.png", said + 1), std::string::npos) << text;
}

// A device without an end took all memory, and a pipe without a writer was waited for without end.
TEST_F(FolderSourceTest, LeavesOutWhatIsNoFileOrTooLargeAndSaysSo) {
  Write(2, "pngenc", "png");
  std::filesystem::create_symlink("/dev/zero", folder_ / "2.png");
  ASSERT_EQ(mkfifo((folder_ / "3.png").c_str(), 0600), 0);
  static_cast<void>(folder_.Write("4.png", ""));
  std::filesystem::resize_file(folder_ / "4.png", std::uintmax_t{1} << 40);
  std::filesystem::create_symlink("0.png", folder_ / "5.png");
  const Logged logged;
  const auto source = Open({.uri = ""});
  int frames = 0;
  while (source->queue().Pop()) ++frames;
  EXPECT_EQ(frames, 3) << "0, 1, and 5, which is a link to a file";
  EXPECT_THAT(logged.text(),
              AllOf(HasSubstr("2.png: it cannot be read: it is a pipe, socket or device"),
                    HasSubstr("3.png: it cannot be read: it is a pipe, socket or device"),
                    HasSubstr("4.png: it cannot be read: it holds more than the 33554432 bytes")));
}

TEST_F(FolderSourceTest, AnImageOfAnotherSizeBeginsAnEpoch) {
  Write(2, "pngenc", "png");
  RunPipeline(
      "videotestsrc num-buffers=1 ! video/x-raw,format=RGB,width=80,height=80 ! pngenc ! "
      "filesink location=" +
      (folder_ / "9.png"));
  const auto source = Open({.uri = "", .width = 32, .height = 24});
  for (const int epoch : {0, 0, 1}) {
    const Frame frame = source->queue().Pop().value();
    EXPECT_EQ(frame.epoch, epoch);
    EXPECT_EQ(frame.picture->width, 32);
  }
  EXPECT_EQ(source->queue().Pop(), std::nullopt);
  EXPECT_EQ(source->status().size_changes, 1);
}

TEST_F(FolderSourceTest, FailsWhereNoneCanBeReadAnyMore) {
  Write(2, "pngenc", "png");
  const auto source = Open({.uri = "", .loop = true, .queue_capacity = 1});
  std::filesystem::remove(folder_ / "0.png");
  std::filesystem::remove(folder_ / "1.png");
  while (source->queue().Pop()) {
  }
  const SourceStatus status = source->status();
  EXPECT_EQ(status.state, SourceState::kFailed);
  EXPECT_THAT(std::string(status.cause.message()), HasSubstr("none of its 2 images can be read"));
}

TEST_F(FolderSourceTest, SaysWhatIsWrongWhenItIsOpened) {
  EXPECT_THAT(std::string(WhyNot(folder_.path()).message()), HasSubstr("the folder has no images"));
  EXPECT_THAT(std::string(WhyNot(folder_ / "*.jpg").message()), HasSubstr("match this pattern"));
  static_cast<void>(folder_.Write("0.png", "text"));
  const absl::Status first = WhyNot(folder_.path());
  EXPECT_TRUE(absl::IsFailedPrecondition(first));
  EXPECT_THAT(std::string(first.message()), HasSubstr("its first image"));
  EXPECT_THAT(
      std::string(OpenSource({.uri = SampleVideo(), .images_per_second = 5}).status().message()),
      HasSubstr("fps is for folders of images only"));
}

}  // namespace
}  // namespace millrace::ingest
