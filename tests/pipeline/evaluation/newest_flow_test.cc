#include "pipeline/evaluation/newest_flow.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/pipeline/evaluation/made_clip.h"

namespace millrace::pipeline {
namespace {

using std::chrono::milliseconds;

constexpr int kWidth = 4;
constexpr int kHeight = 3;

// A flow of one camera, available from a certain time on.
struct There {
  double at;
  NewestFlowScorer::Flow flow;
};

NewestFlowScorer::Flow FlowOf(float dx) {
  return std::make_shared<const std::vector<float>>(ConstantFlow(kWidth, kHeight, dx, 0));
}

// A pair whose error tells which flow it was scored by, as nothing moves: its length.
std::vector<ClipPair> StillPairs(int pairs, std::mt19937& random) {
  std::vector<ClipPair> made = RandomPairs(pairs, kWidth, kHeight, milliseconds(100), random);
  const auto still = std::make_shared<const TrueFlow>(
      TrueFlow{.width = kWidth, .height = kHeight, .flow = ConstantFlow(kWidth, kHeight, 0, 0)});
  for (ClipPair& pair : made) pair.truth = still;
  return made;
}

// Windows of one pair each: which flow was there for each.
NewestFlowScorer ScorerOf(double interval) {
  return {interval, FlowOf(0), StreamScorer(milliseconds(1), kWidth, kHeight)};
}

std::vector<double> ErrorsOf(const ScoredStream& scored) {
  std::vector<double> errors;
  for (const WindowScores& window : scored.windows) {
    errors.push_back(*window.scores.flow.error.mean());
  }
  return errors;
}

// Looks at every flow for every pair.
std::vector<double> BruteForce(int pairs, double interval, const std::vector<There>& flows) {
  std::vector<double> errors;
  for (int pair = 0; pair < pairs; ++pair) {
    double error = 0;
    for (const There& there : flows) {
      if (there.at <= pair * interval) error = there.flow->front();
    }
    errors.push_back(error);
  }
  return errors;
}

TEST(NewestFlowTest, EachPairMeetsTheNewestFlowOfAllWheneverFlowsCome) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    const int count = 1 + static_cast<int>(random() % 30);
    const double interval = 0.5 + static_cast<double>(random() % 100) / 50;
    const std::vector<ClipPair> pairs = StillPairs(count, random);
    std::vector<There> flows;
    double at = 0;
    for (std::uint32_t i = random() % 40; i > 0; --i) {
      // Often exactly when a pair comes, and several at once.
      at += random() % 3 == 0 ? 0 : static_cast<double>(random() % 8) * interval / 4;
      flows.push_back({at, FlowOf(static_cast<float>(flows.size() + 1))});
    }
    NewestFlowScorer scorer = ScorerOf(interval);
    std::size_t pair = 0;
    std::size_t flow = 0;
    while (pair < pairs.size() || flow < flows.size()) {
      if (flow == flows.size() || (pair < pairs.size() && random() % 2 == 0)) {
        scorer.AddPair(pairs[pair++]);
      } else {
        scorer.AddFlow(flows[flow].at, flows[flow].flow, /*learned_from=*/true);
        ++flow;
      }
    }
    EXPECT_EQ(ErrorsOf(std::move(scorer).Finish()), BruteForce(count, interval, flows)) << round;
  }
}

TEST(NewestFlowTest, WithoutAnyFlowNothingMoves) {
  std::mt19937 random(2);
  NewestFlowScorer scorer = ScorerOf(1);
  for (ClipPair& pair : StillPairs(5, random)) scorer.AddPair(std::move(pair));
  EXPECT_EQ(ErrorsOf(std::move(scorer).Finish()), std::vector<double>(5, 0));
}

TEST(NewestFlowTest, AFlowIsThereForAPairThatComesAtThatVeryMoment) {
  std::mt19937 random(3);
  NewestFlowScorer scorer = ScorerOf(10);
  for (ClipPair& pair : StillPairs(3, random)) scorer.AddPair(std::move(pair));
  scorer.AddFlow(10, FlowOf(1), true);
  scorer.AddFlow(20.001, FlowOf(2), true);
  EXPECT_EQ(ErrorsOf(std::move(scorer).Finish()), (std::vector<double>{0, 1, 1}));
}

TEST(NewestFlowTest, ItSaysOfWhichPairsTheFlowWasLearnedFrom) {
  std::mt19937 random(4);
  NewestFlowScorer scorer = ScorerOf(10);
  for (ClipPair& pair : StillPairs(4, random)) scorer.AddPair(std::move(pair));
  scorer.AddFlow(5, FlowOf(1), /*learned_from=*/true);
  scorer.AddFlow(15, FlowOf(2), /*learned_from=*/false);
  EXPECT_EQ(std::move(scorer).Finish().whole.loss.learned_from, 1);
}

}  // namespace
}  // namespace millrace::pipeline
