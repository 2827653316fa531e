// A user's network over recorded samples gives the results of a loop by hand.
#include "pipeline/offline/replay.h"

#include <unistd.h>

#include <array>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "pipeline/nn/torchscript_chain.h"
#include "pipeline/stages/staged_network.h"
#include "tests/pipeline/support/replay_model.h"

namespace millrace::pipeline {
namespace {

using ::testing::HasSubstr;

constexpr int kSamples = 43;
constexpr double kRate = 0.1;

class ReplayTest : public ::testing::Test {
 protected:
  void SetUp() override {
    at::set_num_threads(1);
    folder_ =
        std::filesystem::path(::testing::TempDir()) /
        ("replay_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()) +
         std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
    SaveSquareNetwork(Path("m.pt"));
    ASSERT_TRUE(WriteTensors(Path("s.pt"), SquareSamples(kSamples)).ok());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string Path(const std::string& name) const { return folder_ / name; }

  [[nodiscard]] ReplayOptions Options(const std::string& schedule = "sequential",
                                      std::vector<int> stages = {}) const {
    return {.model = Path("m.pt"),
            .samples = Path("s.pt"),
            .output = Path("o.pt"),
            .schedule = schedule,
            .stages = std::move(stages),
            .optimizer = {.kind = OptimizerOptions::Kind::kSgd, .learning_rate = kRate}};
  }

  [[nodiscard]] NamedTensors ResultOf(const ReplayOptions& options) const {
    const auto summary = Replay(options);
    EXPECT_TRUE(summary.ok()) << options.schedule << ": " << summary.status();
    const auto result = ReadTensors(options.output);
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? *result : NamedTensors{};
  }

  [[nodiscard]] TorchScriptChain Network() const {
    auto network = LoadTorchScriptChain(Path("m.pt"));
    EXPECT_TRUE(network.ok()) << network.status();
    return *std::move(network);
  }

  void ExpectRefused(const ReplayOptions& options, const std::string& message) const {
    const auto refused = Replay(options);
    EXPECT_THAT(std::string(refused.status().message()), HasSubstr(message));
    EXPECT_TRUE(absl::IsInvalidArgument(refused.status()) || absl::IsNotFound(refused.status()))
        << refused.status();
  }

  std::filesystem::path folder_;
};

void Descend(const std::vector<at::Tensor>& parameters) {
  const at::NoGradGuard no_graph;
  for (const at::Tensor& parameter : parameters) {
    parameter.variable_data().sub_(parameter.grad() * kRate);
    parameter.mutable_grad() = at::Tensor();
  }
}

at::Tensor Row(const NamedTensors& tensors, const std::string& name, std::int64_t i) {
  return FindTensor(tensors, name).narrow(0, i, 1);
}

void ExpectSameWeights(const NamedTensors& result, const TorchScriptChain& network) {
  for (const auto& [name, expected] : network.parameters) {
    const at::Tensor weight = FindTensor(result, "weights." + name);
    ASSERT_TRUE(weight.defined()) << name;
    EXPECT_TRUE(at::allclose(weight, expected.detach(), 1e-5, 1e-6)) << name;
  }
}

TEST_F(ReplayTest, SequentialIsThePlainLoop) {
  const NamedTensors samples = SquareSamples(kSamples);
  for (const std::vector<int>& stages : {std::vector<int>{}, {2, 2}, {1, 1, 1, 1}}) {
    const TorchScriptChain fresh = Network();
    const NamedTensors result = ResultOf(Options("sequential", stages));
    for (int i = 0; i < kSamples; ++i) {
      const at::Tensor output = WholeChain(fresh.chain).Forward({Row(samples, "inputs", i)})[0];
      const at::Tensor loss = at::mse_loss(output, Row(samples, "targets", i));
      EXPECT_TRUE(at::allclose(Row(result, "outputs", i), output.detach(), 1e-5, 1e-6)) << i;
      EXPECT_NEAR(Row(result, "losses", i).item<float>(), loss.item<float>(), 1e-6);
      EXPECT_EQ(Row(result, "samples", i).item<std::int64_t>(), i);
      torch::autograd::backward({loss}, {});
      Descend(WholeChain(fresh.chain).parameters());
    }
    ExpectSameWeights(result, fresh);
  }
}

// PARTIME by its definition: in every step each stage reads only what its neighbours made in the
// step before, and a stage learns once its gradient is real.
class DoubleBuffers {
 public:
  explicit DoubleBuffers(const LayerChain& chain)
      : samples_(SquareSamples(kSamples)), stages_(CutIntoStages(chain, {1, 3})) {}

  std::vector<at::Tensor> Run() {
    for (int step = 0; step < kSamples + kStages; ++step) {
      Buffers now;
      for (int h = 0; h < kStages; ++h) Work(h, step - h, now);
      before_ = now;
    }
    return outputs_;
  }

 private:
  static constexpr int kStages = 3;
  struct Buffers {
    std::array<at::Tensor, kStages> made;
    std::array<at::Tensor, kStages> gradients;  // Of each stage's input.
  };

  void Work(int h, int sample, Buffers& now) {
    if (sample < 0 || sample >= kSamples) return;
    const at::Tensor before = h == 0 ? Row(samples_, "inputs", sample) : before_.made[h - 1];
    const at::Tensor input = before.detach().set_requires_grad(h > 0);
    at::Tensor end = stages_[h].Forward({input})[0];
    now.made[h] = end.detach();
    at::Tensor gradient;
    if (h + 1 == kStages) {
      outputs_.push_back(end.detach());
      end = at::mse_loss(end, Row(samples_, "targets", sample));
    } else {
      gradient = before_.gradients[h + 1];
      if (!gradient.defined()) return;  // Still filling.
    }
    torch::autograd::backward({end}, {gradient});
    now.gradients[h] = input.grad();
    Descend(stages_[h].parameters());
  }

  const NamedTensors samples_;
  const std::vector<Stage> stages_;
  Buffers before_;
  std::vector<at::Tensor> outputs_;
};

TEST_F(ReplayTest, PartimeIsTheLoopWithDoubleBuffers) {
  const TorchScriptChain network = Network();
  const std::vector<at::Tensor> outputs = DoubleBuffers(network.chain).Run();
  const NamedTensors result = ResultOf(Options("partime", {1, 2, 1}));
  for (int i = 0; i < kSamples; ++i) {
    EXPECT_TRUE(at::allclose(Row(result, "outputs", i), outputs[i], 1e-4, 1e-5)) << i;
  }
  ExpectSameWeights(result, network);
}

TEST_F(ReplayTest, EveryScheduleRunsAndGivesTheSameBitsTwice) {
  const TorchScriptChain untouched = Network();
  for (const std::string& schedule : ScheduleNames()) {
    ReplayOptions options = Options(schedule, {1, 2, 1});
    options.request.switch_at = 20;
    const NamedTensors first = ResultOf(options);
    const NamedTensors second = ResultOf(options);
    ASSERT_EQ(first.size(), second.size());
    for (std::size_t i = 0; i < first.size(); ++i) {
      EXPECT_EQ(first[i].first, second[i].first);
      EXPECT_TRUE(at::equal(first[i].second, second[i].second)) << schedule << first[i].first;
    }
    for (const auto& [name, before] : untouched.parameters) {
      EXPECT_FALSE(at::equal(FindTensor(first, "weights." + name), before.detach()))
          << schedule << " never changed " << name;
    }
  }
}

TEST_F(ReplayTest, RecorderSeesEveryOperationAndChangesNothing) {
  const NamedTensors unseen = ResultOf(Options("hybrid", {1, 2, 1}));
  RunHistory recorder({.operations = 1000, .keeps_first = true});
  ReplayOptions options = Options("hybrid", {1, 2, 1});
  options.recorder = &recorder;
  const NamedTensors seen = ResultOf(options);
  EXPECT_TRUE(at::equal(FindTensor(seen, "outputs"), FindTensor(unseen, "outputs")));
  int forwards = 0;
  for (const PastOperation& operation : recorder.Since(nanoseconds(0))) {
    if (operation.step.kind == OperationKind::kForward) ++forwards;
  }
  EXPECT_EQ(forwards, 3 * kSamples);
}

TEST_F(ReplayTest, RandomAndNormalizingLayersGiveTheSameBitsTwice) {
  SaveNetwork({Child("A", 4, 4), Normalizing(), Dropping(), Child("B", 4, 4)}, Path("m.pt"));
  for (const std::string& schedule : ScheduleNames()) {
    ReplayOptions options = Options(schedule, {1, 2, 1});
    options.request.switch_at = 20;
    const NamedTensors first = ResultOf(options);
    const NamedTensors second = ResultOf(options);
    ASSERT_EQ(first.size(), second.size());
    for (std::size_t i = 0; i < first.size(); ++i) {
      EXPECT_TRUE(at::equal(first[i].second, second[i].second)) << schedule << first[i].first;
    }
    options.seed = 1;
    EXPECT_FALSE(at::equal(FindTensor(ResultOf(options), "outputs"), FindTensor(first, "outputs")));
  }
}

TEST_F(ReplayTest, GpipeCommitsBatchStatisticsOnceAMiniBatch) {
  constexpr int kBatch = 4;
  SaveNetwork({Doubling(), Normalizing(), Dropping(), Child("B", 4, 4)}, Path("m.pt"));
  const at::Tensor inputs = FindTensor(SquareSamples(kSamples), "inputs") * 2;
  const at::Tensor mean = at::zeros({2});
  const at::Tensor var = at::ones({2});
  for (int i = 0; i < kSamples / kBatch; ++i) {
    at::batch_norm(inputs.narrow(0, i * kBatch, kBatch).view({-1, 2, 2}), {}, {}, mean, var, true,
                   0.1, 1e-5, false);
  }
  ReplayOptions options = Options("gpipe", {2, 2});
  options.request.samples = kBatch;
  const NamedTensors result = ResultOf(options);
  EXPECT_TRUE(at::allclose(FindTensor(result, "weights.1.running_mean"), mean, 1e-5, 1e-7));
  EXPECT_TRUE(at::allclose(FindTensor(result, "weights.1.running_var"), var, 1e-5, 1e-7));
  EXPECT_EQ(FindTensor(result, "weights.1.num_batches_tracked").item<std::int64_t>(),
            kSamples / kBatch);
}

TEST_F(ReplayTest, ClassesAreLearnedByCrossEntropy) {
  at::manual_seed(4);
  NamedTensors samples = SquareSamples(400);
  samples[1].second = FindTensor(samples, "inputs").argmax(1);
  ASSERT_TRUE(WriteTensors(Path("s.pt"), samples).ok());
  SaveNetwork({Child("A", 4, 8), Doubling(), Child("B", 8, 4), Doubling(), Doubling()},
              Path("m.pt"));
  ReplayOptions options = Options("one_f_one_b_star", {2, 3});
  options.loss = "cross_entropy";
  const auto summary = Replay(options);
  ASSERT_TRUE(summary.ok()) << summary.status();
  EXPECT_EQ(summary->samples, 400);
  EXPECT_EQ(summary->stages, 2);
  EXPECT_LT(summary->last_loss, 0.7 * summary->first_loss);
}

TEST_F(ReplayTest, StageBehindTheCameraMayHaveNoParameters) {
  SaveNetwork({Doubling(), Child("A", 4, 4), Child("B", 4, 4)}, Path("m.pt"));
  for (const std::string& schedule : ScheduleNames()) {
    EXPECT_TRUE(Replay(Options(schedule, {1, 1, 1})).ok()) << schedule;
  }
}

TEST_F(ReplayTest, PeriodHasTheLayersMeasured) {
  ReplayOptions options = Options("one_f_one_b_star", {2, 2});
  options.request.period = 1e6;  // All stages fit into one group.
  ExpectSameWeights(ResultOf(options), [&] {
    TorchScriptChain network = Network();
    const NamedTensors sequential = ResultOf(Options("sequential", {2, 2}));
    for (auto& [name, value] : network.parameters) {
      value = FindTensor(sequential, "weights." + name);
    }
    return network;
  }());
}

TEST_F(ReplayTest, BadInputGetsOneLineThatSaysWhatToDo) {
  const auto with = [&](auto change) {
    ReplayOptions options = Options();
    change(options);
    return options;
  };
  ExpectRefused(with([&](auto& o) { o.model = Path("none.pt"); }), "there is no model");
  ExpectRefused(with([&](auto& o) { o.model = Path("s.pt"); }), "no TorchScript network");
  ExpectRefused(with([&](auto& o) { o.samples = Path("none.pt"); }), "no file of samples");
  ExpectRefused(with([](auto& o) { o.schedule = "fast"; }), "use one of: sequential");
  ExpectRefused(with([](auto& o) { o.loss = "l3"; }), "use one of: mse, l1, cross_entropy");
  ExpectRefused(with([](auto& o) { o.stages = {2, 3}; }), "add up to the 4 layers");
  ExpectRefused(with([](auto& o) { o.stages = {5, -1}; }), "add up to the 4 layers");
  ExpectRefused(with([](auto& o) { o.optimizer.momentum = 2; }), "less than 1");
  ExpectRefused(with([](auto& o) { o.loss = "cross_entropy"; }), "one int64 class a sample");

  const auto refuse_samples = [&](const NamedTensors& samples, const std::string& message) {
    ASSERT_TRUE(WriteTensors(Path("bad.pt"), samples).ok());
    ExpectRefused(with([&](auto& o) { o.samples = Path("bad.pt"); }), message);
  };
  refuse_samples({{"inputs", at::zeros({3, 4})}}, "no tensor `targets`");
  refuse_samples({{"inputs", at::zeros({3, 4})}, {"targets", at::zeros({2, 4})}},
                 "3 inputs and 2 targets");
  refuse_samples({{"inputs", at::zeros({3, 4})}, {"targets", at::zeros({3, 5})}},
                 "makes [1, 4] of a sample, and its target is [1, 5]");
  refuse_samples({{"inputs", at::zeros({3, 7})}, {"targets", at::zeros({3, 4})}},
                 "refuses the first input");
}

TEST_F(ReplayTest, LocalNamesTheStageWhoseOutputIsNoTarget) {
  SaveNetwork({Child("A", 4, 6), Child("B", 6, 4)}, Path("m.pt"));
  ExpectRefused(Options("local", {1, 1}), "stage 1, which schedule local gives its own loss");
}

TEST_F(ReplayTest, ChildrenThatShareParametersAreRefused) {
  const torch::jit::Module child = Child("A", 4, 4);
  SaveNetwork({child, child}, Path("m.pt"));
  ExpectRefused(Options(), "share parameters");
}

}  // namespace
}  // namespace millrace::pipeline
