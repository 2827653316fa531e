// Compares the results of each schedule with loops that are written by hand.
#include <algorithm>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include <ATen/ops/allclose.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "tests/pipeline/support/small_runs.h"

namespace millrace::pipeline {
namespace {

constexpr int kSamples = 17;
constexpr int kStages = 3;
constexpr double kLearningRate = 0.05;

SmallRun Under(const std::string& schedule, const ScheduleRequest& request = {}) {
  return {.schedule = schedule,
          .stages = kStages,
          .request = request,
          .optimizer = {.kind = OptimizerOptions::Kind::kSgd, .learning_rate = kLearningRate},
          .with_skip = false};
}

// The weights of each stage after each update, and the weights that each sample reads.
class Versions {
 public:
  Versions() : chain_(SmallChain(false)), stages_(CutIntoStages(chain_, EvenCuts(kStages))) {
    for (const Stage& stage : stages_) history_.push_back({Values(stage.parameters())});
  }

  // `stage` (from 1) with the weights after `version` updates.
  const Stage& At(int stage, std::int64_t version) {
    const auto parameters = stages_[stage - 1].parameters();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      parameters[i].variable_data().copy_(history_[stage - 1].at(version)[i]);
      parameters[i].mutable_grad() = at::Tensor();
    }
    return stages_[stage - 1];
  }
  // The newest weights, less the gradients that `stage` has now.
  void Update(int stage) {
    std::vector<at::Tensor> gradients;
    for (const auto& p : stages_[stage - 1].parameters()) gradients.push_back(p.grad().clone());
    const auto newest = static_cast<std::int64_t>(history_[stage - 1].size()) - 1;
    const auto parameters = At(stage, newest).parameters();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      parameters[i].mutable_grad() = gradients[i];
    }
    MakeOptimizer({.kind = OptimizerOptions::Kind::kSgd, .learning_rate = kLearningRate},
                  parameters)
        ->Step();
    history_[stage - 1].push_back(Values(parameters));
  }
  std::vector<at::Tensor> Newest() {
    std::vector<at::Tensor> all;
    for (const auto& versions : history_) {
      all.insert(all.end(), versions.back().begin(), versions.back().end());
    }
    return all;
  }

 private:
  const LayerChain chain_;
  const std::vector<Stage> stages_;
  std::vector<std::vector<std::vector<at::Tensor>>> history_;  // By stage and version.
};

using VersionOf = std::function<std::int64_t(int stage, std::int64_t sample)>;

// Learns from one sample after the other: each stage goes forward on one version of its weights and
// backward, from the same input, on another.
Outcome ByHand(const VersionOf& forward, const VersionOf& backward) {
  Versions versions;
  Outcome outcome;
  const std::vector<at::Tensor> samples = SmallInputs(kSamples);
  for (int t = 0; t < kSamples; ++t) {
    std::vector<at::Tensor> made = {samples[t]};
    for (int stage = 1; stage <= kStages; ++stage) {
      made.push_back(versions.At(stage, forward(stage, t)).Forward({made.back()})[0].detach());
    }
    outcome.outputs.push_back(made.back());
    at::Tensor gradient;
    for (int stage = kStages; stage >= 1; --stage) {
      const at::Tensor input = made[stage - 1].detach().set_requires_grad(true);
      at::Tensor end = versions.At(stage, backward(stage, t)).Forward({input})[0];
      if (stage == kStages) end = SmallLoss(samples[t], end);
      torch::autograd::backward({end}, {gradient});
      gradient = input.grad().clone();
      versions.Update(stage);
    }
  }
  outcome.parameters = versions.Newest();
  outcome.updates.assign(kStages, kSamples);
  return outcome;
}

std::int64_t Behind(std::int64_t sample, int updates) {
  return std::max<std::int64_t>(sample - updates, 0);
}

TEST(ScheduleSemanticsTest, PipedreamGoesBackwardOnTheWeightsOfItsForward) {
  const VersionOf stashed = [](int stage, std::int64_t t) { return Behind(t, kStages - stage); };
  const Outcome piped = InTheEngine(Under("pipedream"), SmallInputs(kSamples));
  ExpectEqual(piped, ByHand(stashed, stashed));
  // The same order without stashed weights is something else.
  const Outcome newest = InTheEngine(Under("one_f_one_b_star"), SmallInputs(kSamples));
  EXPECT_FALSE(at::equal(piped.parameters[0], newest.parameters[0]));
}

TEST(ScheduleSemanticsTest, RecomputeGoesForwardAgainOnTheNewestWeights) {
  const VersionOf late = [](int stage, std::int64_t t) { return Behind(t, 2 * (kStages - stage)); };
  const VersionOf newest = [](int /*stage*/, std::int64_t t) { return t; };
  ExpectEqual(InTheEngine(Under("recompute"), SmallInputs(kSamples)), ByHand(late, newest));
}

TEST(ScheduleSemanticsTest, SequentialIsTheLoopWithTheNewestWeights) {
  const VersionOf newest = [](int /*stage*/, std::int64_t t) { return t; };
  ExpectEqual(InTheEngine(Under("sequential"), SmallInputs(kSamples)), ByHand(newest, newest));
}

// The newest weights, less each gradient `delay` samples after the pass that computed it.
Outcome FromAQueue(int delay, const OptimizerOptions& options) {
  const LayerChain chain = SmallChain(false);
  const Stage whole = WholeChain(chain);
  const std::vector<at::Tensor> parameters = whole.parameters();
  const auto optimizer = MakeOptimizer(options, parameters);
  std::deque<std::vector<at::Tensor>> queue;
  Outcome outcome;
  const auto update = [&] {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      parameters[i].mutable_grad() = queue.front()[i];
    }
    queue.pop_front();
    optimizer->Step();
  };
  for (const at::Tensor& sample : SmallInputs(kSamples)) {
    const at::Tensor output = whole.Forward({sample})[0];
    outcome.outputs.push_back(output.detach().clone());
    for (const at::Tensor& parameter : parameters) parameter.mutable_grad() = at::Tensor();
    torch::autograd::backward({SmallLoss(sample, output)}, {});
    std::vector<at::Tensor>& gradients = queue.emplace_back();
    for (const at::Tensor& parameter : parameters) gradients.push_back(parameter.grad().clone());
    if (static_cast<int>(queue.size()) > delay) update();
  }
  while (!queue.empty()) update();
  outcome.parameters = Values(parameters);
  outcome.updates.assign(delay + 1, kSamples);
  return outcome;
}

TEST(ScheduleSemanticsTest, DelayedAppliesGradientsFromAQueue) {
  const OptimizerOptions kinds[] = {
      {.kind = OptimizerOptions::Kind::kSgd, .learning_rate = kLearningRate, .momentum = 0.9},
      {.kind = OptimizerOptions::Kind::kRmsProp, .learning_rate = 1e-3},
      {.kind = OptimizerOptions::Kind::kAdamW, .learning_rate = 1e-3, .weight_decay = 0.01}};
  for (const OptimizerOptions& optimizer : kinds) {
    for (const int stages : {1, 2, 4}) {
      SCOPED_TRACE(testing::Message()
                   << OptimizerNames()[static_cast<int>(optimizer.kind)] << ", " << stages);
      SmallRun run = Under("delayed");
      run.stages = stages;
      run.optimizer = optimizer;
      const Outcome outcome = InTheEngine(run, SmallInputs(kSamples));
      ExpectEqual(outcome, FromAQueue(stages - 1, optimizer));
      if (stages > 1) continue;
      run.schedule = "sequential";
      ExpectEqual(outcome, InTheEngine(run, SmallInputs(kSamples)));
    }
  }
}

TEST(ScheduleSemanticsTest, GpipeLearnsFromTheSumOverItsMicroBatches) {
  const std::vector<at::Tensor> samples = SmallInputs(kSamples);
  const LayerChain chain = SmallChain(false);
  const Stage whole = WholeChain(chain);
  const auto optimizer = MakeOptimizer(
      {.kind = OptimizerOptions::Kind::kSgd, .learning_rate = kLearningRate}, whole.parameters());
  for (int t = 0; t < 16; ++t) {
    torch::autograd::backward({SmallLoss(samples[t], whole.Forward({samples[t]})[0])}, {});
    if (t % 4 == 3) optimizer->Step();
  }
  const Outcome always = InTheEngine(Under("gpipe"), samples);
  const std::vector<at::Tensor> expected = Values(whole.parameters());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_TRUE(at::allclose(always.parameters[i], expected[i], 1e-5, 1e-6)) << "parameter " << i;
  }
  for (const Recompute recompute : {Recompute::kExceptLast, Recompute::kNever}) {
    ExpectEqual(InTheEngine(Under("gpipe", {.recompute = recompute}), samples), always);
  }
}

TEST(ScheduleSemanticsTest, StaleOnMoreDevicesIsTheSame) {
  ExpectEqual(InTheEngine(Under("stale", {.separate_backwards = true}), SmallInputs(kSamples)),
              InTheEngine(Under("stale"), SmallInputs(kSamples)));
}

TEST(ScheduleSemanticsTest, LocalStagesLearnFromTheirOwnOutputsOnly) {
  const std::vector<at::Tensor> samples = SmallInputs(kSamples);
  const LayerChain chain = SmallChain(false);
  const std::vector<Stage> stages = CutIntoStages(chain, EvenCuts(kStages));
  Outcome plain;
  for (const at::Tensor& sample : samples) {
    at::Tensor passed = sample;
    for (const Stage& stage : stages) {
      const at::Tensor output = stage.Forward({passed})[0];
      torch::autograd::backward({SmallLoss(sample, output)}, {});
      MakeOptimizer({.kind = OptimizerOptions::Kind::kSgd, .learning_rate = kLearningRate},
                    stage.parameters())
          ->Step();
      passed = output.detach();
    }
    plain.outputs.push_back(passed);
  }
  plain.parameters = Values(WholeChain(chain).parameters());
  plain.updates.assign(kStages, kSamples);
  ExpectEqual(InTheEngine(Under("local"), samples), plain);
}

TEST(ScheduleSemanticsTest, SequentialGradientsAreThoseOfFiniteDifferences) {
  const std::vector<at::Tensor> samples = SmallInputs(1);
  SmallRun run = Under("sequential");
  run.optimizer.learning_rate = 1;
  const Outcome learned = InTheEngine(run, samples);
  const LayerChain chain = SmallChain(false);
  const std::vector<at::Tensor> parameters = WholeChain(chain).parameters();
  const auto loss = [&] {
    return SmallLoss(samples[0], WholeChain(chain).Forward(samples)[0]).item<double>();
  };
  constexpr float kStep = 1e-2F;
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    const at::Tensor flat = parameters[p].variable_data().view({-1});
    const at::Tensor gradient = (flat - learned.parameters[p].view({-1})).clone();
    for (std::int64_t i = 0; i < flat.numel(); i += 5) {
      float& value = flat.data_ptr<float>()[i];
      const float before = value;
      value = before + kStep;
      const double above = loss();
      value = before - kStep;
      const double below = loss();
      value = before;
      EXPECT_NEAR(gradient[i].item<double>(), (above - below) / (2 * kStep), 1e-3);
    }
  }
}

}  // namespace
}  // namespace millrace::pipeline
