#include "pipeline/evaluation/flow_run.h"

#include <atomic>
#include <map>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/bounded_queue.h"
#include "base/mutex.h"
#include "tests/pipeline/evaluation/made_clip.h"

namespace millrace::pipeline {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kWidth = 6;
constexpr int kHeight = 4;

// A sample as it was admitted to a learner.
struct Admitted {
  std::vector<std::uint8_t> current;
  int learn_from_every = 1;
  bool room_awaited = false;
};

// The record of a run's learner; outlives the learner.
struct Seen {
  std::vector<Admitted> admitted;
  std::atomic<int> predicted = 0;
  bool drained = false;
  // Of a learner that is busy after each sample: how long, by which clock.
  nanoseconds busy{0};
  FakeClock clock;
};

// Predicts on its own thread, at any time, a flow that is the sample's number.
class SmallLearner final : public Learner {
 public:
  SmallLearner(Seen& seen, OnPrediction on_prediction, std::int64_t fails_at)
      : seen_(seen), fails_at_(fails_at), on_prediction_(std::move(on_prediction)) {
    worker_ = std::jthread([this] { Work(); });
  }
  ~SmallLearner() override { waiting_.Close(); }

  absl::StatusOr<std::int64_t> Admit(const Sample& pictures) override {
    const auto sample = static_cast<std::int64_t>(seen_.admitted.size());
    if (sample == fails_at_) return absl::InternalError("the learner broke");
    seen_.admitted.push_back({.current = {pictures.current.begin(), pictures.current.end()},
                              .learn_from_every = learn_from_every_,
                              .room_awaited = std::exchange(room_awaited_, false)});
    EXPECT_TRUE(waiting_.PushOrWait({sample, learn_from_every_}));
    return sample;
  }
  absl::Status AwaitRoom() override {
    room_awaited_ = true;
    if (seen_.busy == nanoseconds(0) || seen_.admitted.empty()) return absl::OkStatus();
    const int admitted = static_cast<int>(seen_.admitted.size());
    for (int made = seen_.predicted; made < admitted; made = seen_.predicted) {
      seen_.predicted.wait(made);
    }
    seen_.clock.Advance(seen_.busy);
    return absl::OkStatus();
  }
  void LearnFromEvery(int n) override { learn_from_every_ = n; }
  void Freeze(bool /*frozen*/) override {}
  absl::Status SetLearningRate(double /*rate*/) override { return absl::OkStatus(); }
  [[nodiscard]] double learning_rate() const override { return 0; }
  absl::StatusOr<std::int64_t> AskForCheckpoint() override { return 1; }
  absl::Status Drain() override {
    waiting_.Close();
    if (worker_.joinable()) worker_.join();
    seen_.drained = true;
    return absl::OkStatus();
  }
  std::shared_ptr<const LearnerDescription> description() const override {
    LearnerDescription description;
    description.stages = {{.layers = {"all"}, .device = "cpu:0"}};
    return std::make_shared<const LearnerDescription>(description);
  }
  std::vector<std::int64_t> updates() const override { return {42}; }
  LearningFigures learning() const override { return {.drifts = 3}; }
  const Resumption& resumption() const override { return resumption_; }

 private:
  struct Waiting {
    std::int64_t sample;
    int learn_from_every;
  };

  void Work() {
    while (const std::optional<Waiting> next = waiting_.Pop()) {
      ModelPrediction prediction{.sample = next->sample,
                                 .width = kWidth,
                                 .height = kHeight,
                                 .flow = std::make_shared<const std::vector<float>>(ConstantFlow(
                                     kWidth, kHeight, static_cast<float>(next->sample), 0))};
      if (next->learn_from_every == 0) prediction.skipped = SkipReason::kRate;
      on_prediction_(std::move(prediction));
      ++seen_.predicted;
      seen_.predicted.notify_all();
    }
  }

  Seen& seen_;
  const std::int64_t fails_at_;
  const OnPrediction on_prediction_;
  const Resumption resumption_;
  int learn_from_every_ = 1;
  bool room_awaited_ = false;
  BoundedQueue<Waiting> waiting_{4};
  std::jthread worker_;
};

class FlowRunTest : public ::testing::Test {
 protected:
  static constexpr int kPairs = 30;

  // Windows of 10 pairs.
  [[nodiscard]] FlowRunOptions Options() {
    return {.clip = MadeClip("clip", kWidth, kHeight, pairs_),
            .make =
                [this](OnPrediction on_prediction) {
                  return std::make_unique<SmallLearner>(seen_, std::move(on_prediction), fails_at_);
                },
            .window = seconds(1)};
  }

  [[nodiscard]] FlowRunResult Run(const FlowRunOptions& options) {
    absl::StatusOr<FlowRunResult> result = RunFlow(options);
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? *std::move(result) : FlowRunResult();
  }

  // The pictures that the learner was given, as numbers of the clip's pairs.
  [[nodiscard]] std::vector<std::int64_t> AdmittedPairs() const {
    std::map<std::vector<std::uint8_t>, std::int64_t> numbers;
    for (const ClipPair& pair : pairs_) numbers.emplace(*pair.current, pair.number);
    std::vector<std::int64_t> admitted;
    for (const Admitted& sample : seen_.admitted) admitted.push_back(numbers.at(sample.current));
    return admitted;
  }

  // Every third pair is admitted, and predicted two pairs after it came.
  [[nodiscard]] static std::vector<LiveSample> EveryThird() {
    std::vector<LiveSample> samples;
    for (int frame = 1; frame < kPairs; frame += 3) {
      samples.push_back({.frame = frame, .predicted = 40.0 * (frame + 2)});
    }
    return samples;
  }

  [[nodiscard]] static std::vector<std::int64_t> Numbers(int from, int to) {
    std::vector<std::int64_t> numbers;
    for (int i = from; i < to; ++i) numbers.push_back(i);
    return numbers;
  }

  std::mt19937 random_{7};
  const std::vector<ClipPair> pairs_ =
      RandomPairs(kPairs, kWidth, kHeight, milliseconds(100), random_);
  std::int64_t fails_at_ = -1;
  Seen seen_;
};

TEST_F(FlowRunTest, EveryPairIsPredictedOnceInOrder) {
  const FlowRunResult result = Run(Options());
  EXPECT_EQ(AdmittedPairs(), Numbers(0, kPairs));
  EXPECT_TRUE(seen_.drained);
  EXPECT_EQ(result.pairs, kPairs);
  EXPECT_EQ(result.dropped, 0);
  EXPECT_EQ(result.model.whole.loss.predictions, kPairs);
  EXPECT_EQ(result.model.whole.loss.learned_from, kPairs);
  EXPECT_EQ(result.model.windows.size(), 3u);
  EXPECT_FALSE(result.streaming.has_value());
  EXPECT_TRUE(result.frozen.empty());
  EXPECT_THAT(result.updates, ElementsAre(42));
  EXPECT_EQ(result.learning.drifts, 3);
  EXPECT_EQ(result.stages.size(), 1u);
  for (const Admitted& sample : seen_.admitted) {
    EXPECT_TRUE(sample.room_awaited) << "learners go back to good weights there";
  }
}

TEST_F(FlowRunTest, EachPairIsScoredByItsOwnFlow) {
  StreamScorer oracle(seconds(1), kWidth, kHeight);
  for (const ClipPair& pair : pairs_) {
    (void)oracle.Add(pair, ConstantFlow(kWidth, kHeight, static_cast<float>(pair.number), 0), true);
  }
  const ScoredStream expected = std::move(oracle).Finish();
  const FlowRunResult result = Run(Options());
  EXPECT_EQ(result.model.whole.loss.loss, expected.whole.loss.loss);
  EXPECT_EQ(result.model.whole.flow.error.mean(), expected.whole.flow.error.mean());
}

TEST_F(FlowRunTest, ACameraDropsExactlyWhatIsNotAmongItsSamples) {
  FlowRunOptions options = Options();
  options.camera = EveryThird();
  options.camera_interval = 40;
  const FlowRunResult result = Run(options);
  std::vector<std::int64_t> every_third;
  for (int i = 1; i < kPairs; i += 3) every_third.push_back(i);
  EXPECT_EQ(AdmittedPairs(), every_third);
  EXPECT_EQ(result.pairs, kPairs);
  EXPECT_EQ(result.dropped, kPairs - 10);
  EXPECT_EQ(result.model.whole.loss.predictions, 10);
}

TEST_F(FlowRunTest, BehindACameraEachPairMeetsTheNewestFlowThatWasThere) {
  FlowRunOptions options = Options();
  options.camera = EveryThird();
  options.camera_interval = 40;
  const FlowRunResult result = Run(options);
  StreamScorer oracle(seconds(1), kWidth, kHeight);
  for (const ClipPair& pair : pairs_) {
    // Sample s is pair 3 s + 1, there when pair 3 s + 3 comes.
    const std::int64_t newest = pair.number / 3 - 1;
    const auto dx = static_cast<float>(std::max<std::int64_t>(newest, 0));
    (void)oracle.Add(pair, ConstantFlow(kWidth, kHeight, dx, 0), true);
  }
  const ScoredStream expected = std::move(oracle).Finish();
  ASSERT_TRUE(result.streaming.has_value());
  EXPECT_EQ(result.streaming->whole.loss.predictions, kPairs) << "dropped ones, too";
  EXPECT_NEAR(result.streaming->whole.loss.loss, expected.whole.loss.loss, 1e-12);
  EXPECT_NEAR(*result.streaming->whole.flow.error.mean(), *expected.whole.flow.error.mean(), 1e-9);
}

TEST_F(FlowRunTest, ACameraThatDropsAllPredictsNothingAndNothingMoves) {
  FlowRunOptions options = Options();
  options.camera = std::vector<LiveSample>();
  options.camera_interval = 40;
  const FlowRunResult result = Run(options);
  EXPECT_EQ(result.dropped, kPairs);
  EXPECT_EQ(result.model.whole.loss.predictions, 0);
  EXPECT_EQ(result.streaming->whole.loss.ratio(), 1);
}

// Of a learner that is busy for two and a half intervals after each pair.
FlowRunOptions Paced(FlowRunOptions options, Seen& seen) {
  options.paced_interval = milliseconds(40);
  options.clock = &seen.clock;
  options.sleep = [&seen](nanoseconds time) { seen.clock.Advance(time); };
  seen.busy = milliseconds(100);
  return options;
}

TEST_F(FlowRunTest, ByTheClockASlowLearnerGetsTheNewestPair) {
  const FlowRunResult result = Run(Paced(Options(), seen_));
  // Pairs are taken at 0, 100, 200 ms ...
  std::vector<std::int64_t> taken;
  for (int at = 0; at / 40 < kPairs - 1; at += 100) taken.push_back(at / 40);
  taken.push_back(kPairs - 1);
  EXPECT_EQ(AdmittedPairs(), taken);
  EXPECT_EQ(result.pairs, kPairs);
  EXPECT_EQ(result.dropped, kPairs - static_cast<std::int64_t>(taken.size()));
  EXPECT_EQ(result.model.whole.loss.predictions, kPairs - result.dropped);
}

TEST_F(FlowRunTest, ByTheClockEachPairMeetsTheNewestFlowThatWasThere) {
  const FlowRunResult result = Run(Paced(Options(), seen_));
  StreamScorer oracle(seconds(1), kWidth, kHeight);
  for (const ClipPair& pair : pairs_) {
    // Sample s is predicted at 100 s ms. Pair n comes at 40 n ms.
    const auto newest = static_cast<float>(40 * pair.number / 100);
    (void)oracle.Add(pair, ConstantFlow(kWidth, kHeight, newest, 0), true);
  }
  const ScoredStream expected = std::move(oracle).Finish();
  ASSERT_TRUE(result.streaming.has_value());
  EXPECT_EQ(result.streaming->whole.loss.predictions, kPairs);
  EXPECT_NEAR(*result.streaming->whole.flow.error.mean(), *expected.whole.flow.error.mean(), 1e-9);
}

TEST_F(FlowRunTest, ByTheClockEveryPairCountsAsProgressAndTestsDropNothing) {
  FlowRunOptions options = Paced(Options(), seen_);
  int told = 0;
  options.on_pair = [&] { ++told; };
  options.frozen = {{.name = "first", .clip = options.clip},
                    {.name = "last", .clip = options.clip, .part = FrozenTest::Part::kLast}};
  const FlowRunResult result = Run(options);
  EXPECT_EQ(told, kPairs);
  for (const FlowRunResult::Frozen& test : result.frozen) {
    EXPECT_EQ(test.scores.loss.predictions, 10);
  }
  EXPECT_EQ(result.model.whole.loss.predictions, kPairs - result.dropped);
}

TEST_F(FlowRunTest, ByTheClockItEndsWithTheCause) {
  FlowRunOptions options = Paced(Options(), seen_);
  options.clip = MadeClip("torn", kWidth, kHeight, pairs_, /*fails_at=*/12);
  EXPECT_EQ(RunFlow(options).status(), absl::DataLossError("the clip is torn"));
  EXPECT_TRUE(seen_.admitted.empty()) << "the clip is read before the first pair";
  options.clip = MadeClip("empty", kWidth, kHeight, {});
  EXPECT_THAT(RunFlow(options).status().message(), HasSubstr("empty has no pair"));
  options.clip = Options().clip;
  std::stop_source stop;
  options.stop = stop.get_token();
  options.on_pair = [&] { stop.request_stop(); };
  EXPECT_EQ(RunFlow(options).status().code(), absl::StatusCode::kCancelled);
}

TEST_F(FlowRunTest, ByTheClockTheMemoryOfAPairCountsATruthOfAnotherSize) {
  const ClipSource clip{.name = "small", .width = 10, .height = 10, .open = {}};
  EXPECT_EQ(PacedBytes(clip, {}), 1500);
  TrueFlow large{.width = 100, .height = 100, .flow = std::vector<float>(20'000)};
  large.known.resize(10'000);
  ClipPair pair;
  pair.truth = std::make_shared<const TrueFlow>(std::move(large));
  EXPECT_EQ(PacedBytes(clip, pair), 1500 + 90'000);
}

TEST_F(FlowRunTest, WhatNoLongerLearnsIsTriedOnTheRightParts) {
  FlowRunOptions options = Options();
  std::mt19937 random(8);
  const std::vector<ClipPair> others = RandomPairs(15, kWidth, kHeight, milliseconds(100), random);
  options.frozen = {{.name = "first", .clip = options.clip, .part = FrozenTest::Part::kFirst},
                    {.name = "last", .clip = options.clip, .part = FrozenTest::Part::kLast},
                    {.name = "other", .clip = MadeClip("other", kWidth, kHeight, others)}};
  const FlowRunResult result = Run(options);
  ASSERT_EQ(seen_.admitted.size(), kPairs + 30u);
  for (std::size_t i = 0; i < seen_.admitted.size(); ++i) {
    EXPECT_EQ(seen_.admitted[i].learn_from_every, i < kPairs ? 1 : 0) << i;
    const ClipPair& expected = i < kPairs + 10   ? pairs_[i % kPairs]
                               : i < kPairs + 20 ? pairs_[kPairs - 10 + i - (kPairs + 10)]
                                                 : others[i - (kPairs + 20)];
    EXPECT_EQ(seen_.admitted[i].current, *expected.current) << i;
  }
  ASSERT_EQ(result.frozen.size(), 3u);
  EXPECT_EQ(result.frozen[0].name, "first");
  EXPECT_EQ(result.frozen[2].name, "other");
  for (const FlowRunResult::Frozen& test : result.frozen) {
    EXPECT_EQ(test.scores.loss.predictions, 10);
    EXPECT_EQ(test.scores.loss.learned_from, 0);
  }
  EXPECT_EQ(result.model.whole.loss.predictions, kPairs) << "tests are not of the stream";
}

TEST_F(FlowRunTest, AClipShorterThanAWindowIsAllOfItsParts) {
  FlowRunOptions options = Options();
  options.window = seconds(60);
  options.frozen = {{.name = "first", .clip = options.clip},
                    {.name = "last", .clip = options.clip, .part = FrozenTest::Part::kLast}};
  const FlowRunResult result = Run(options);
  EXPECT_EQ(result.frozen[0].scores.loss.predictions, kPairs);
  EXPECT_EQ(result.frozen[1].scores.loss.predictions, kPairs);
}

TEST_F(FlowRunTest, BehindACameraTestsDropNothing) {
  FlowRunOptions options = Options();
  options.camera = EveryThird();
  options.camera_interval = 40;
  options.frozen = {{.name = "first", .clip = options.clip}};
  const FlowRunResult result = Run(options);
  EXPECT_EQ(result.frozen[0].scores.loss.predictions, 10);
  EXPECT_EQ(result.streaming->whole.loss.predictions, kPairs);
}

TEST_F(FlowRunTest, ProgressIsToldOfEveryPairOfTheClip) {
  FlowRunOptions options = Options();
  int told = 0;
  options.on_pair = [&] { ++told; };
  options.frozen = {{.name = "first", .clip = options.clip}};
  options.camera = EveryThird();
  options.camera_interval = 40;
  (void)Run(options);
  EXPECT_EQ(told, kPairs);
}

TEST_F(FlowRunTest, ATornClipEndsItWithTheCause) {
  FlowRunOptions options = Options();
  options.clip = MadeClip("torn", kWidth, kHeight, pairs_, /*fails_at=*/12);
  EXPECT_EQ(RunFlow(options).status(), absl::DataLossError("the clip is torn"));
  options.clip = Options().clip;
  options.frozen = {{.name = "torn", .clip = MadeClip("torn", kWidth, kHeight, pairs_, 3)}};
  EXPECT_EQ(RunFlow(options).status(), absl::DataLossError("the clip is torn"));
}

TEST_F(FlowRunTest, AClipThatCannotBeOpenedEndsItWithTheCause) {
  FlowRunOptions options = Options();
  options.clip.open = []() -> absl::StatusOr<std::unique_ptr<Clip>> {
    return absl::NotFoundError("gone");
  };
  EXPECT_EQ(RunFlow(options).status(), absl::NotFoundError("gone"));
}

TEST_F(FlowRunTest, ALearnerThatBreaksEndsItWithTheCause) {
  fails_at_ = 17;
  EXPECT_EQ(RunFlow(Options()).status(), absl::InternalError("the learner broke"));
}

TEST_F(FlowRunTest, ALearnerThatCannotBeMadeEndsItWithTheCause) {
  FlowRunOptions options = Options();
  options.make = [](OnPrediction) -> absl::StatusOr<std::unique_ptr<Learner>> {
    return absl::InvalidArgumentError("no such network");
  };
  EXPECT_EQ(RunFlow(options).status(), absl::InvalidArgumentError("no such network"));
}

TEST_F(FlowRunTest, AskedToEndItIsCancelledBetweenTwoPairs) {
  FlowRunOptions options = Options();
  std::stop_source stop;
  options.stop = stop.get_token();
  int told = 0;
  options.on_pair = [&] {
    if (++told == 5) stop.request_stop();
  };
  EXPECT_EQ(RunFlow(options).status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(told, 5);
  EXPECT_EQ(seen_.admitted.size(), 5u);
}

TEST_F(FlowRunTest, AClipWithoutPairsSaysSo) {
  FlowRunOptions options = Options();
  options.clip = MadeClip("a single picture", kWidth, kHeight, {});
  const absl::Status status = RunFlow(options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("a single picture has no pair"));
}

TEST_F(FlowRunTest, OnlyTheFirstPairsAreReadOfAClipThatIsCutShort) {
  FlowRunOptions options = Options();
  options.clip = FirstPairs(options.clip, 8);
  EXPECT_EQ(Run(options).pairs, 8);
  options.clip = FirstPairs(Options().clip, 100);
  EXPECT_EQ(Run(options).pairs, kPairs);
  options.clip = FirstPairs(Options().clip, 0);
  EXPECT_EQ(Run(options).pairs, kPairs) << "0: all";
}

}  // namespace
}  // namespace millrace::pipeline
