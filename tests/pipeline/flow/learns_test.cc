// The promises of a learner of two stages: it learns, and both stages work at the same time. Each
// test must fail for a learner that breaks the promise.
#include "tests/pipeline/support/learns.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/pipeline/support/moving_waves.h"

namespace millrace::pipeline {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::IsEmpty;

constexpr int kSamples = 160;
constexpr int kWidth = 352;
constexpr int kHeight = 256;
// It is some 0.75 where a dozen other programs want the same two cores, and more where none does.
constexpr double kOverlap = 0.6;
constexpr int kTries = 5;

std::vector<std::uint8_t> MovingWaves(int i) { return Waves(0.7 * (i % 40)); }

FlowRun OfTwoStages(const LearnerOptions& changed) {
  LearnerOptions options = changed;
  options.width = options.height = kWavesSide;
  options.stages = 2;
  return RunFlowLearner(options, {.network = "flow"}, kSamples, MovingWaves);
}

TEST(LearnsTest, WeightsOfBothStagesMoveAndTheLossFalls) {
  for (const char* const schedule : {"sequential", "one_f_one_b_star", "partime"}) {
    SCOPED_TRACE(schedule);
    const FlowRun run = OfTwoStages({.schedule = schedule});
    EXPECT_THAT(run.stages_that_stood, IsEmpty());
    EXPECT_LT(LossLeft(run.Ratios()), kLearned);
  }
}

// The test of the test. The counters say what they say of one that learns.
TEST(LearnsTest, OneThatUpdatesInVainDoesNotLearn) {
  const FlowRun run = OfTwoStages({.optimizer = {.learning_rate = 0}});
  EXPECT_THAT(run.updates, Each(Ge(kSamples - 4))) << "all but where the waves jump";
  EXPECT_THAT(run.stages_that_stood, ElementsAre(1, 2));
  EXPECT_GE(LossLeft(run.Ratios()), kLearned);
}

TEST(LearnsTest, AStageWhoseRateIsZeroStands) {
  EXPECT_THAT(OfTwoStages({.stage_rates = {0, 1}}).stages_that_stood, ElementsAre(1));
  EXPECT_THAT(OfTwoStages({.stage_rates = {1, 0}}).stages_that_stood, ElementsAre(2));
}

// Of the time in which any device works, the share in which two or more do.
double OverlappingShare(const std::vector<PastOperation>& operations) {
  std::vector<std::pair<nanoseconds, int>> changes;
  for (const PastOperation& operation : operations) {
    changes.emplace_back(operation.start, 1);
    changes.emplace_back(operation.end, -1);
  }
  std::ranges::sort(changes);
  nanoseconds any{0};
  nanoseconds several{0};
  int at_work = 0;
  for (std::size_t i = 0; i + 1 < changes.size(); ++i) {
    at_work += changes[i].second;
    const nanoseconds until_next = changes[i + 1].first - changes[i].first;
    if (at_work > 0) any += until_next;
    if (at_work > 1) several += until_next;
  }
  return any > nanoseconds(0)
             ? static_cast<double>(several.count()) / static_cast<double>(any.count())
             : 0;
}

// The same operations, each from when it could have begun: when its device had done the one before,
// and the other stage what it reads. What waits for a core then is under way, as on an idle
// machine. A first forward waits for nothing but its sample, so it begins when it did.
std::vector<PastOperation> FromWhenReady(const std::vector<PastOperation>& operations) {
  const auto key = [](const Step& step, int stage) {
    return std::tuple(step.kind, stage, step.first);
  };
  std::map<std::tuple<OperationKind, int, std::int64_t>, nanoseconds> ends;
  for (const PastOperation& each : operations) ends[key(each.step, each.step.stage)] = each.end;
  std::map<std::size_t, nanoseconds> device_free;
  std::vector<PastOperation> ready = operations;
  for (PastOperation& each : ready) {
    const bool forward = each.step.kind == OperationKind::kForward;
    const auto free = std::exchange(device_free[each.device], each.end);
    if (forward && each.step.stage == 1) continue;
    const int from = each.step.stage + (forward ? -1 : 1);
    const auto read = ends.find(key(each.step, from));
    const bool reads = each.step.kind != OperationKind::kUpdate && read != ends.end();
    each.start = std::min(each.start, std::max(free, reads ? read->second : nanoseconds(0)));
  }
  return ready;
}

// Keeps as many threads busy as there are cores, as other programs would.
class BusyMachine {
 public:
  BusyMachine() {
    const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
    for (unsigned i = 0; i < cores; ++i) {
      threads_.emplace_back([](const std::stop_token& stop) {
        while (!stop.stop_requested()) ++work;
      });
    }
  }

 private:
  static inline std::atomic<std::uint64_t> work = 0;
  std::vector<std::jthread> threads_;
};

// Of two stages that learn from pictures of the usual size.
double OverlapUnder(const std::string& schedule) {
  const auto picture = [](int i) {
    std::vector<std::uint8_t> rgb;
    for (int y = 0; y < kHeight; ++y) {
      for (int x = 0; x < kWidth; ++x) {
        rgb.insert(rgb.end(), 3, static_cast<std::uint8_t>((x - i + 4 * y) / 7 % 2 * 200));
      }
    }
    return rgb;
  };
  const FlowRun run =
      RunFlowLearner({.width = kWidth, .height = kHeight, .schedule = schedule, .stages = 2}, {},
                     /*samples=*/30, picture);
  return OverlappingShare(FromWhenReady(run.operations));
}

// What other programs take of the cores only makes it less, so the best of some tries counts.
double BestOverlapUnder(const std::string& schedule) {
  double best = 0;
  for (int i = 0; i < kTries && best < kOverlap; ++i) best = std::max(best, OverlapUnder(schedule));
  return best;
}

TEST(PipeliningTest, TwoStagesWorkAtTheSameTime) {
  EXPECT_GE(BestOverlapUnder("one_f_one_b_star"), kOverlap);
}

TEST(PipeliningTest, TwoStagesWorkAtTheSameTimeOnABusyMachine) {
  const BusyMachine busy;
  EXPECT_GE(BestOverlapUnder("one_f_one_b_star"), kOverlap);
}

// The test of the test.
TEST(PipeliningTest, SequentialStagesDoNot) {
  EXPECT_LT(BestOverlapUnder("sequential"), kOverlap / 2);
}

}  // namespace
}  // namespace millrace::pipeline
