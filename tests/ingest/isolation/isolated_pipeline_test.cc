// The server's side of a camera's process, for any behaviour of that process. The test plays the
// process.
#include "ingest/isolation/isolated_pipeline.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ingest/isolation/packets.h"
#include "ingest/source/abandoned_pipelines.h"
#include "ingest/source/outcome.h"

namespace millrace::ingest {
namespace {

using ::testing::HasSubstr;

constexpr Extent kGrid = {.width = 8, .height = 4};
constexpr std::size_t kBytes = 8 * 4 * 3;

std::ptrdiff_t OpenFiles() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return std::distance(begin(files), end(files));
}

class Recorded final : public PipelineListener {
 public:
  void OnFormat(const CameraFormat& format) override { formats.push_back(format); }
  void OnPicture(DecodedPicture picture) override { pictures.push_back(std::move(picture)); }
  void OnWarning(const absl::Status& warning) override { warnings.push_back(warning); }
  void OnOutcome(absl::Status outcome) override { outcome_.Set(std::move(outcome)); }

  /// Waits for the outcome. Afterwards the test may read the members below.
  std::string Outcome() { return std::string(outcome_.Wait().message()); }

  std::vector<CameraFormat> formats;
  std::vector<DecodedPicture> pictures;
  std::vector<absl::Status> warnings;

 private:
  ingest::Outcome outcome_;
};

/// A pipeline, and the other end of its socket.
class IsolatedPipelineTest : public testing::Test {
 protected:
  void SetUp() override {
    auto ends = NewPacketSocket();
    auto file = NewSlotsFile(kBytes);
    ASSERT_TRUE(ends.ok() && file.ok());
    auto slots = MappedSlots::Map(*file, kBytes, /*writable=*/false);
    auto own_slots = MappedSlots::Map(*file, kBytes, /*writable=*/true);
    ASSERT_TRUE(slots.ok() && own_slots.ok());
    slots_.emplace(*std::move(own_slots));
    process_.emplace(std::move(ends->second));
    pipeline_ = std::make_unique<IsolatedPipeline>(
        IsolatedPipeline::Options{
            .task = "its task",
            .grid = kGrid,
            .log = [this](int /*level*/, std::string_view text) { lines_.emplace_back(text); }},
        std::move(ends->first), *std::move(file), *std::move(slots), listener_);
  }

  void TearDown() override { Hang(); }

  bool Say(const std::string& bytes) { return SendPacket(process_->value(), bytes, /*wait=*/true); }
  void Hang() { process_.reset(); }
  /// The process is at its end, as the spawner would say it.
  void EndBy(int wait_status) {
    Say(Encode(ProcessEnded{.wait_status = wait_status}));
    Hang();
  }

  Recorded listener_;
  std::vector<std::string> lines_;
  std::optional<MappedSlots> slots_;
  std::optional<Descriptor> process_;
  std::unique_ptr<IsolatedPipeline> pipeline_;
};

TEST_F(IsolatedPipelineTest, WhatAProcessShowsIsHeardAsItIs) {
  const std::span<std::uint8_t> slot = slots_->WritableSlot(1);
  std::iota(slot.begin(), slot.end(), std::uint8_t{1});
  Say(Encode(CameraFormat{.width = 640, .height = 480, .frames_per_second = 25}));
  Say(Encode(PipelineCodec{"H.264"}));
  Say(Encode(PipelineWarning{absl::UnavailableError("late")}));
  Say(Encode(PictureInSlot{.slot = 1, .stream_time = std::chrono::seconds(2)}));
  const std::optional<Packet> freed = ReceivePacket(process_->value(), 64);
  Say(Encode(PipelineOutcome{absl::NotFoundError("gone")}));

  EXPECT_EQ(listener_.Outcome(), "gone");
  ASSERT_EQ(listener_.pictures.size(), 1u);
  const Picture& picture = *listener_.pictures.front().picture;
  EXPECT_EQ(picture.width, kGrid.width);
  EXPECT_TRUE(std::ranges::equal(picture.rgb, slots_->Slot(1)));
  EXPECT_EQ(listener_.pictures.front().stream_time, std::chrono::seconds(2));
  EXPECT_EQ(listener_.formats.size(), 1u);
  EXPECT_EQ(listener_.warnings.size(), 1u);
  EXPECT_EQ(pipeline_->Codec(), "H.264");
  ASSERT_TRUE(freed.has_value());
  EXPECT_EQ(DecodeFreeSlot(freed->bytes), 1u);
}

TEST_F(IsolatedPipelineTest, PlayHandsOverTheTaskAndTheSlots) {
  pipeline_->Play();
  const std::optional<Packet> task = ReceivePacket(process_->value(), 64, /*with_file=*/true);
  ASSERT_TRUE(task.has_value());
  EXPECT_EQ(task->bytes, "its task");
  EXPECT_EQ(lseek(task->file.value(), 0, SEEK_END), static_cast<off_t>(kPictureSlots * kBytes));
  // A reader would get a SIGBUS.
  EXPECT_NE(ftruncate(task->file.value(), 0), 0);
  EXPECT_NE(ftruncate(task->file.value(), 1 << 20), 0);
}

TEST_F(IsolatedPipelineTest, AProcessThatCrashesIsAnOutcomeInWords) {
  EndBy(SIGSEGV);
  EXPECT_THAT(listener_.Outcome(), HasSubstr("its process crashed (SIGSEGV)"));
}

// What it was told last is unread in its end of the socket when that is closed.
TEST_F(IsolatedPipelineTest, AProcessThatDidNotListenIsAnOutcomeInWords) {
  pipeline_->Play();
  EndBy(SIGKILL);
  EXPECT_THAT(listener_.Outcome(), HasSubstr("was ended (SIGKILL)"));
}

TEST_F(IsolatedPipelineTest, AProcessThatIsGoneWithoutAWordIsAnOutcome) {
  Hang();
  EXPECT_EQ(listener_.Outcome(), "its process is gone");
}

TEST_F(IsolatedPipelineTest, AWrongSlotEndsIt) {
  Say(Encode(PictureInSlot{.slot = kPictureSlots}));
  EXPECT_THAT(listener_.Outcome(), HasSubstr("a slot that does not exist"));
  EXPECT_TRUE(listener_.pictures.empty());
  // The process no longer reads: the spawner notices it too, and kills the process.
  EXPECT_FALSE(ReceivePacket(process_->value(), 64).has_value());
}

TEST_F(IsolatedPipelineTest, MessagesThatAreCutEndIt) {
  const std::string message = Encode(LogLine{.level = 2, .text = "a line"});
  Say(message.substr(0, message.size() - 1));
  EXPECT_THAT(listener_.Outcome(), HasSubstr("says what it may not"));
}

TEST_F(IsolatedPipelineTest, AMessageWithoutEndEndsIt) {
  Say(std::string(64 << 10, 'x'));
  EXPECT_EQ(listener_.Outcome(), "its process is gone");
}

TEST_F(IsolatedPipelineTest, MessagesWithoutEndEndIt) {
  const std::string warning = Encode(PipelineWarning{absl::UnavailableError("again")});
  while (Say(warning)) continue;
  EXPECT_EQ(listener_.Outcome(), "its process says too much");
}

TEST_F(IsolatedPipelineTest, LinesWithoutEndAreCounted) {
  constexpr int kLines = 10'000;
  const std::string line = Encode(LogLine{.level = 2, .text = "again"});
  for (int i = 0; i < kLines; ++i) ASSERT_TRUE(Say(line));
  EndBy(0);
  EXPECT_THAT(listener_.Outcome(), HasSubstr("ended with code 0"));
  pipeline_->End();
  EXPECT_LT(lines_.size(), static_cast<std::size_t>(kLines));
}

TEST_F(IsolatedPipelineTest, PicturesWithoutEndEndIt) {
  const std::string picture = Encode(PictureInSlot{});
  while (Say(picture)) continue;
  EXPECT_EQ(listener_.Outcome(), "its process says too much");
}

TEST_F(IsolatedPipelineTest, PicturesOfAFastCameraAreTaken) {
  constexpr std::size_t kPictures = 1000;
  for (std::size_t i = 0; i < kPictures; ++i) ASSERT_TRUE(Say(Encode(PictureInSlot{})));
  EndBy(SIGKILL);
  listener_.Outcome();
  EXPECT_EQ(listener_.pictures.size(), kPictures);
}

TEST_F(IsolatedPipelineTest, FilesBesideAMessageAreNotTaken) {
  const Descriptor file(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const std::ptrdiff_t before = OpenFiles();
  for (int i = 0; i < 20; ++i) {
    SendPacket(process_->value(), Encode(LogLine{.level = 2, .text = "a line"}), /*wait=*/true,
               file.value());
  }
  Say(Encode(PipelineOutcome{absl::OkStatus()}));
  listener_.Outcome();
  EXPECT_EQ(OpenFiles(), before);
}

TEST_F(IsolatedPipelineTest, AfterItsEndNothingIsHeard) {
  std::jthread process([this] {
    // It ends in good order: it is told that there is no more.
    while (ReceivePacket(process_->value(), 64)) continue;
    Say(Encode(CameraFormat{.width = 640, .height = 480}));
    Say(Encode(PictureInSlot{}));
    EndBy(0);
  });
  EXPECT_TRUE(pipeline_->End());
  EXPECT_TRUE(pipeline_->End());
  EXPECT_TRUE(listener_.pictures.empty());
  EXPECT_TRUE(listener_.formats.empty());
}

TEST_F(IsolatedPipelineTest, AProcessThatHangsIsSaidInTheLog) {
  std::jthread process([this] {
    while (ReceivePacket(process_->value(), 64)) continue;
    EndBy(kExitHung << 8);
  });
  EXPECT_TRUE(pipeline_->End());
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_THAT(lines_.front(), HasSubstr("hangs in GStreamer"));
}

TEST_F(IsolatedPipelineTest, AProcessThatHangsIsCountedAndLeavesNothing) {
  const AbandonedPipelines before = CountAbandoned();
  EndBy(kExitHung << 8);
  listener_.Outcome();
  EXPECT_EQ(CountAbandoned().so_far, before.so_far + 1);
  EXPECT_EQ(CountAbandoned().hanging, before.hanging);
}

// The spawner says nothing more, so the process has said it.
TEST_F(IsolatedPipelineTest, AfterTheWordOfItsEndNothingIsHeard) {
  for (int i = 0; i < 10; ++i) Say(Encode(ProcessEnded{.wait_status = kExitHung << 8}));
  listener_.Outcome();
  pipeline_->End();
  EXPECT_EQ(lines_.size(), 1u);
}

}  // namespace
}  // namespace millrace::ingest
