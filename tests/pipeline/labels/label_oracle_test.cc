// The learner of labels equals a serial run of the same orders bit for bit, under every schedule.
#include <map>
#include <string>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/from_blob.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "pipeline/labels/label_networks.h"
#include "pipeline/labels/label_stage_loss.h"
#include "pipeline/labels/sample_window.h"
#include "pipeline/labels/staged_label_learner.h"
#include "pipeline/plan/serial_run.h"
#include "pipeline/stages/staged_network.h"
#include "tests/pipeline/support/label_options.h"
#include "tests/pipeline/support/without_bounds.h"

namespace millrace::pipeline {
namespace {

constexpr int kSamples = 61;
constexpr int kNumbers = 5;
constexpr int kStages = 3;

struct Case {
  std::string schedule = {};
  int window = 4;
  /// 0: labels come with their samples. Otherwise a label comes right after the prediction that is
  /// delay - 1 later.
  int delay = 0;
  LabelTask task = LabelTask::kClassification;
  /// See Learner::LearnFromEvery().
  int learn_from_every = 1;
};

LabelOptions OptionsOf(const Case& c) {
  return {.learner = {.schedule = c.schedule,
                      .stages = kStages,
                      .request = {.switch_at = 23},
                      .cuts = {2, 4},
                      .optimizer = {.kind = OptimizerOptions::Kind::kSgd,
                                    .learning_rate = 0.05,
                                    .momentum = 0.5},
                      .seed = 9},
          .task = {.layers = 6,
                   .width = 7,
                   .sample_shape = {kNumbers},
                   .task = c.task,
                   .outputs = 3,
                   .window = c.window}};
}

std::vector<float> ValuesOf(int n) {
  Random random(100 + static_cast<std::uint64_t>(n));
  std::vector<float> values;
  for (int i = 0; i < kNumbers; ++i) values.push_back(static_cast<float>(random.Bell()));
  return values;
}

// Every fifth label never comes.
std::optional<SampleLabel> LabelOf(const Case& c, std::int64_t n) {
  if (n % 5 == 4) return std::nullopt;
  if (c.task == LabelTask::kClassification) return SampleLabel(n % 3);
  return SampleLabel(std::vector<float>{static_cast<float>(n % 2), 0.5F, -1});
}

// The results of a run.
struct Outcome {
  std::vector<ModelPrediction> predictions;
  /// Of the network as it was at the end, for the first sample.
  std::vector<float> at_the_end;
  std::vector<std::int64_t> updates;
};

// Takes predictions, and sends the labels that are due after them.
template <typename Send>
auto Receive(const Case& c, Outcome& outcome, Send send) {
  return [&c, &outcome, send](const ModelPrediction& made) {
    outcome.predictions.push_back(made);
    const std::int64_t due = made.sample + 1 - c.delay;
    if (c.delay == 0 || due < 0) return;
    if (auto label = LabelOf(c, due)) send(due, *label);
  };
}

Outcome ByTheLearner(const Case& c) {
  Outcome outcome;
  StagedLabelLearner* at_work = nullptr;
  const LabelOptions options = OptionsOf(c);
  const auto learner = StagedLabelLearner::Make(
      options.learner, options.task,
      Receive(c, outcome, [&at_work](std::int64_t n, const SampleLabel& label) {
        at_work->Label(n, label).IgnoreError();
      }));
  EXPECT_TRUE(learner.ok()) << learner.status();
  at_work = learner->get();
  at_work->LearnFromEvery(c.learn_from_every);
  for (int n = 0; n < kSamples; ++n) {
    std::optional<SampleLabel> label;
    if (c.delay == 0) label = LabelOf(c, n);
    const auto number = (*learner)->AdmitSample(ValuesOf(n), std::move(label));
    EXPECT_TRUE(number.ok()) << number.status();
    EXPECT_EQ(*number, n);
  }
  EXPECT_TRUE((*learner)->Drain().ok());
  outcome.updates = (*learner)->updates();
  outcome.at_the_end = (*learner)->Model().Outputs(ValuesOf(0))[0];
  return outcome;
}

// All samples of a plan are there before it starts, so labels must not be those of the future: one
// that comes with its sample is known when the sample is, and no earlier step has it in its window.
Outcome BySerialRun(const Case& c) {
  Outcome outcome;
  const LabelOptions options = OptionsOf(c);
  const auto opened = OpenLabelNetwork(options.learner, options.task);
  EXPECT_TRUE(opened.ok()) << opened.status();
  const LayerChain& chain = opened->chain;
  ScheduleRequest request = options.learner.request;
  request.shape = ShapeOf(chain, options.learner.cuts);
  request.costs.assign(kStages, {.forward = 1, .backward = 2, .update = 0});
  const auto phases = MakePhases(options.learner.schedule, request);
  EXPECT_TRUE(phases.ok()) << phases.status();
  const auto roomy = [&](std::size_t i) { return WithoutBounds((*phases)[i].plan, kSamples); };

  LateLabels labels({.window = c.window, .in_flight = kSamples});
  StagedNetwork* at_work = nullptr;
  auto loss = std::make_unique<LabelPredictionLoss>(
      options.task, labels,
      Receive(c, outcome,
              [&labels](std::int64_t n, const SampleLabel& label) {
                labels.Add(n, label).IgnoreError();
              }),
      [&at_work] { return at_work->updates().back(); });
  StagedNetwork network({.chain = chain,
                         .cuts = options.learner.cuts,
                         .plan = roomy(0),
                         .loss = std::move(loss),
                         .optimizer = options.learner.optimizer,
                         .seed = options.learner.seed});
  at_work = &network;
  SampleWindow window(c.window);
  for (std::size_t i = 0; i < phases->size(); ++i) {
    const std::int64_t first = (*phases)[i].first_sample;
    const std::int64_t end = i + 1 < phases->size() ? (*phases)[i + 1].first_sample : kSamples;
    if (i > 0) network.Switch(roomy(i), first);
    for (std::int64_t n = first; n < end; ++n) {
      std::vector<float> values = ValuesOf(static_cast<int>(n));
      labels.Admit(n, c.delay == 0 ? LabelOf(c, n) : std::nullopt, c.learn_from_every);
      network.Admit(n - first, window.Add(at::from_blob(values.data(), {kNumbers}).clone()));
    }
    RunSerially(roomy(i), end - first, [&network](const Step& step) { network.Run(step); });
  }
  outcome.updates = network.updates();
  std::vector<float> values = ValuesOf(0);
  const at::Tensor last =
      WholeChain(chain).Forward({at::from_blob(values.data(), {1, kNumbers})})[0];
  outcome.at_the_end = OutputsOf(last[0], c.task);
  return outcome;
}

void ExpectEqual(const Outcome& a, const Outcome& b, const std::string& schedule) {
  EXPECT_EQ(a.updates, b.updates) << schedule;
  EXPECT_EQ(a.at_the_end, b.at_the_end) << schedule;
  ASSERT_EQ(a.predictions.size(), b.predictions.size()) << schedule;
  for (std::size_t i = 0; i < a.predictions.size(); ++i) {
    const ModelPrediction& mine = a.predictions[i];
    const ModelPrediction& other = b.predictions[i];
    EXPECT_EQ(mine.sample, static_cast<std::int64_t>(i));
    ASSERT_EQ(*mine.outputs, *other.outputs) << schedule << ", sample " << i;
    EXPECT_EQ(mine.labelled, other.labelled) << schedule << ", sample " << i;
    EXPECT_EQ(mine.loss, other.loss) << schedule << ", sample " << i;
    EXPECT_EQ(mine.updates, other.updates) << schedule << ", sample " << i;
  }
}

class LabelOracleTest : public ::testing::Test {
 protected:
  void SetUp() override { at::set_num_threads(1); }

  static void ExpectOracle(Case c) {
    for (const std::string& schedule : ScheduleNames()) {
      if (schedule == "local") continue;  // It wants classes of every stage.
      c.schedule = schedule;
      const Outcome made = ByTheLearner(c);
      ExpectEqual(made, BySerialRun(c), schedule);
      for (const std::int64_t updates : made.updates) EXPECT_GT(updates, 0) << schedule;
    }
  }
};

TEST_F(LabelOracleTest, WithLabelsInTime) { ExpectOracle({.window = 4}); }
TEST_F(LabelOracleTest, WithLabelsThatComeLate) { ExpectOracle({.window = 6, .delay = 3}); }
TEST_F(LabelOracleTest, OneSampleAtATime) { ExpectOracle({.window = 1}); }
TEST_F(LabelOracleTest, FromEveryThirdStep) {
  ExpectOracle({.window = 4, .delay = 2, .learn_from_every = 3});
}
TEST_F(LabelOracleTest, WithValues) { ExpectOracle({.task = LabelTask::kRegression}); }

}  // namespace
}  // namespace millrace::pipeline
