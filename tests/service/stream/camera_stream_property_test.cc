// The counts of every snapshot of a camera stream add up, for any events in any order.
#include <atomic>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "tests/service/support/balanced.h"
#include "tests/service/support/fake_stream.h"

namespace millrace::service {
namespace {

struct Case {
  unsigned seed;
  bool live;
  bool learner_fails;
  bool stopped_early;
};

constexpr int kFrames = 400;

/// One thread is the camera: frames, gaps, reconnects, then the end unless the stream is stopped.
/// The learner fails after a quarter of the frames, however few of them it has had by then.
void PlayCamera(FakeSource& source, FakeLearner& learner, const Case& example) {
  std::mt19937 random(example.seed);
  for (int i = 0; i < kFrames; ++i) {
    if (example.learner_fails && i == kFrames / 4) learner.Fail(absl::InternalError("injected"));
    switch (random() % 16) {
      case 0:
        source.Push(ingest::NoPredecessor::kGap);
        break;
      case 1:
        source.Reconnect();
        source.Push();
        break;
      default:
        source.Push();
    }
    if (random() % 4 == 0) std::this_thread::yield();
  }
  if (!example.stopped_early) source.End();
}

void CheckCounts(const FrameCounts& counts, std::uint64_t max_in_flight) {
  ASSERT_TRUE(Balanced(counts));
  ASSERT_LE(counts.in_flight, max_in_flight);
}

class CameraStreamPropertyTest : public testing::TestWithParam<Case> {};

TEST_P(CameraStreamPropertyTest, EverySnapshotAddsUp) {
  constexpr int kQueue = 3;
  constexpr int kLearner = 4;
  // One frame in the camera's hand and one in the learner's thread's.
  constexpr std::uint64_t kMaxInFlight = kQueue + kLearner + 2;
  const Case& example = GetParam();
  FakeStream fake = StartFakeStream(
      {.queue_capacity = kQueue,
       .live = example.live,
       .learner = {.capacity = kLearner, .predicts = FakeLearner::Predicts::kAtOnce}});
  std::atomic<bool> done = false;
  std::jthread camera([&] { PlayCamera(*fake.source, *fake.learner, example); });
  std::jthread reader([&] {
    while (!done) CheckCounts(fake.stream->Snapshot().frames, kMaxInFlight);
  });

  if (example.stopped_early) {
    while (fake.source->queue().received() < kFrames / 2) std::this_thread::yield();
    fake.stream->Stop();
  }
  camera.join();
  fake.stream->Stop();
  done = true;
  reader.join();

  const StreamSnapshot last = fake.stream->Snapshot();
  CheckCounts(last.frames, 0);
  EXPECT_EQ(last.frames.received, static_cast<std::uint64_t>(kFrames));
  EXPECT_EQ(last.learner.ok(), !example.learner_fails);
}

std::vector<Case> AllCases() {
  std::vector<Case> cases;
  for (unsigned seed = 0; seed < 24; ++seed) {
    cases.push_back({seed, (seed & 1U) != 0, (seed & 2U) != 0, (seed & 4U) != 0});
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Seeds, CameraStreamPropertyTest, testing::ValuesIn(AllCases()));

}  // namespace
}  // namespace millrace::service
