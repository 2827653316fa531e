// A learner whose GPU fails reports the cause. The next learner resumes from the state that it had
// copied to the host.
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/device/device_memory.h"
#include "pipeline/flow/flow_learner.h"
#include "pipeline/learner/learner.h"
#include "pipeline/scenes/generated_stream.h"
#include "tests/base/temporary_folder.h"
#include "tests/pipeline/soft_gpu/soft_gpu.h"
#include "tests/pipeline/soft_gpu/streams.h"

namespace millrace::soft_gpu {
namespace {

using ::testing::HasSubstr;

constexpr int kSide = 64;
constexpr int kCopyEvery = 4;
constexpr int kWindow = 10;
constexpr int kInFlight = 8;
constexpr int kGood = 40;  // Samples; some of their states have proven good.

class FaultsTest : public ::testing::Test {
 protected:
  FaultsTest() : stream_({.width = kSide, .height = kSide}) {}
  ~FaultsTest() override { Repair(); }

  static void Repair() {
    LimitMemory(0);
    Streams::Get().Fail(false);
  }

  [[nodiscard]] std::unique_ptr<pipeline::Learner> Learner(bool captures, int stages = 2) const {
    auto learner = pipeline::MakeFlowLearner(
        {.width = kSide,
         .height = kSide,
         .stages = stages,
         .request = {.period = 0.001},
         .cuts = stages == 2 ? std::vector<int>{6} : std::vector<int>{},
         .weights = MILLRACE_WEIGHTS "/flow-start.safetensors",
         .copy_every = kCopyEvery,
         .checkpoints = {.folder = folder_ / "checkpoints", .every = kCopyEvery},
         .devices = {"cuda:0"},
         .captures = captures},
        {.network = "flow", .learning = {.divergence = {.window = kWindow}}},
        [](const pipeline::ModelPrediction&) {});
    EXPECT_TRUE(learner.ok()) << learner.status();
    return *std::move(learner);
  }

  // The learner's error for the first of the samples that it refuses.
  absl::Status Learn(pipeline::Learner& learner, int samples) {
    for (int i = 0; i < samples; ++i) {
      const pipeline::GeneratedPair pair = stream_.Next();
      const auto admitted =
          learner.Admit({.previous = pair.previous_rgb, .current = pair.current_rgb});
      if (!admitted.ok()) return admitted.status();
    }
    return absl::OkStatus();
  }

  // Waits until a learner of one stage has learned from all samples that it was given.
  static void AwaitUpdates(const pipeline::Learner& learner) {
    const std::int64_t end = learner.resumption().first_sample + kGood;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (learner.updates().front() < end) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << learner.updates().front();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  // A learner that resumes from the checkpoint starts with a sample that the other learner had
  // learned from.
  void ExpectToGoOn() {
    Repair();
    const std::unique_ptr<pipeline::Learner> next = Learner(/*captures=*/true);
    EXPECT_GT(next->resumption().first_sample, 0);
    EXPECT_LE(next->resumption().first_sample, kGood);
    EXPECT_TRUE(Learn(*next, 5).ok());
    EXPECT_TRUE(next->Drain().ok());
  }

 private:
  TemporaryFolder folder_;
  pipeline::GeneratedStream stream_;
};

TEST_F(FaultsTest, FullMemoryIsSaidWithWhatToDoAndWhatIsOnTheHostIsKept) {
  {
    const std::unique_ptr<pipeline::Learner> learner = Learner(/*captures=*/false);
    ASSERT_TRUE(Learn(*learner, kGood).ok());
    LimitMemory(1);
    const absl::Status full = Learn(*learner, kGood);
    EXPECT_EQ(full.code(), absl::StatusCode::kAborted) << full;
    EXPECT_THAT(std::string(full.message()), HasSubstr("the GPU's memory is full: take smaller"));
    EXPECT_EQ(learner->Drain(), full);
  }
  ExpectToGoOn();
}

TEST_F(FaultsTest, AGpuThatFailsIsSaidWithWhatToDoAndWhatIsOnTheHostIsKept) {
  {
    const std::unique_ptr<pipeline::Learner> learner = Learner(/*captures=*/true);
    ASSERT_TRUE(Learn(*learner, kGood).ok());
    Streams::Get().Fail(true);
    const absl::Status failed = Learn(*learner, kGood);
    EXPECT_EQ(failed.code(), absl::StatusCode::kAborted) << failed;
    EXPECT_THAT(std::string(failed.message()), HasSubstr("the GPU has failed: start again"));
    EXPECT_EQ(learner->Drain(), failed);
  }
  ExpectToGoOn();
}

// The last wait of a learner that ends is for the copy of its weights, for the last checkpoint.
TEST_F(FaultsTest, AGpuThatFailsInTheLastCheckpointIsSaidAndWhatIsOnTheHostIsKept) {
  std::int64_t waits = 0;
  {
    const std::unique_ptr<pipeline::Learner> learner = Learner(/*captures=*/true, /*stages=*/1);
    ASSERT_TRUE(Learn(*learner, kGood).ok());
    AwaitUpdates(*learner);
    const std::int64_t before = Streams::Get().waits();
    ASSERT_TRUE(learner->Drain().ok());
    waits = Streams::Get().waits() - before;
    ASSERT_GT(waits, 0);
  }
  {
    const std::unique_ptr<pipeline::Learner> learner = Learner(/*captures=*/true, /*stages=*/1);
    ASSERT_TRUE(Learn(*learner, kGood).ok());
    AwaitUpdates(*learner);
    Streams::Get().FailAfter(waits - 1);
    const absl::Status failed = learner->Drain();
    EXPECT_EQ(failed.code(), absl::StatusCode::kAborted) << failed;
    EXPECT_THAT(std::string(failed.message()), HasSubstr("the GPU has failed: start again"));
  }
  Repair();
  const std::unique_ptr<pipeline::Learner> next = Learner(/*captures=*/true, /*stages=*/1);
  EXPECT_GE(next->resumption().first_sample, kGood) << "the first learner's last checkpoint";
  EXPECT_TRUE(Learn(*next, 5).ok());
  EXPECT_TRUE(next->Drain().ok());
}

// What was captured brings its memory along; but pictures on their way need some.
TEST_F(FaultsTest, ALearnerThatHasCapturedTakesNoMoreMemory) {
  const std::unique_ptr<pipeline::Learner> learner = Learner(/*captures=*/true);
  ASSERT_TRUE(Learn(*learner, kGood).ok());
  const at::Device gpu(at::kCUDA, 0);
  pipeline::ResetPeakBytes(gpu);
  constexpr std::size_t kPictures = std::size_t{2} * kSide * kSide * (3 + sizeof(float));
  LimitMemory(static_cast<std::size_t>(*pipeline::PeakBytes(gpu)) + kInFlight * kPictures);
  const absl::Status learned = Learn(*learner, kGood);
  EXPECT_TRUE(learned.ok()) << learned;
  EXPECT_TRUE(learner->Drain().ok());
}

}  // namespace
}  // namespace millrace::soft_gpu
