// Optimizers on a GPU step as on the CPU.
#include <limits>
#include <ostream>
#include <string>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include "pipeline/optim/optimizer.h"
#include "tests/pipeline/gpu/gpu_tests.h"

namespace millrace::pipeline {
namespace {

struct NamedOptimizer {
  std::string name;
  OptimizerOptions options;
};
void PrintTo(const NamedOptimizer& optimizer, std::ostream* out) { *out << optimizer.name; }

class SteppedBy : public GpuTest, public ::testing::WithParamInterface<NamedOptimizer> {};

// An optimizer's effect on two parameters: 200 steps, another learning rate from the middle on, and
// one step with a gradient that is not finite.
struct Steps {
  static constexpr int kCount = 200;
  static constexpr int kSpoiled = 60;

  explicit Steps(at::Device device) {
    at::manual_seed(1);
    for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{4, 3}, {5}}) {
      parameters.push_back(at::randn(shape).to(device).requires_grad_(true));
    }
  }
  void Put(int step) {
    for (at::Tensor& parameter : parameters) {
      at::Tensor gradient = at::randn(parameter.sizes()) * 3;
      if (step == kSpoiled) gradient.view(-1)[2] = std::numeric_limits<float>::quiet_NaN();
      if (parameter.grad().defined()) {
        parameter.mutable_grad().copy_(gradient);
      } else {
        parameter.mutable_grad() = gradient.to(parameter.device());
      }
    }
  }

  std::vector<at::Tensor> parameters;
};

TEST_P(SteppedBy, StepsAsOnTheCpuAndRefusesWhatIsNoNumber) {
  std::vector<std::vector<at::Tensor>> made;
  for (const at::Device device : {at::Device(at::kCPU), kGpu}) {
    Steps steps(device);
    const auto optimizer = MakeOptimizer(GetParam().options, steps.parameters);
    optimizer->set_delay(2);
    for (int i = 0; i < Steps::kCount; ++i) {
      if (i == Steps::kCount / 2) optimizer->set_learning_rate(1e-3);
      steps.Put(i);
      EXPECT_EQ(optimizer->Step(), device == kGpu || i != Steps::kSpoiled);
    }
    EXPECT_EQ(optimizer->state().counts.updates, Steps::kCount - 1);
    EXPECT_EQ(optimizer->state().counts.skipped, 1);
    EXPECT_EQ(optimizer->counts().skipped, 1);
    made.push_back(Values(steps.parameters));
    for (const auto& kept : optimizer->state().of_parameters) {
      for (const at::Tensor& tensor : Values(kept)) made.back().push_back(tensor);
    }
  }
  ASSERT_EQ(made[0].size(), made[1].size());
  for (std::size_t i = 0; i < made[0].size(); ++i) EXPECT_TRUE(Near(made[1][i], made[0][i])) << i;
}

using Kind = OptimizerOptions::Kind;
INSTANTIATE_TEST_SUITE_P(
    AllOptimizers, SteppedBy,
    ::testing::Values(
        NamedOptimizer{"rmsprop", {.learning_rate = 0.01, .weight_decay = 0.01}},
        NamedOptimizer{"sgd", {.kind = Kind::kSgd, .learning_rate = 0.01, .weight_decay = 0.01}},
        NamedOptimizer{
            "nesterov",
            {.kind = Kind::kSgd, .learning_rate = 0.01, .momentum = 0.9, .nesterov = true}},
        NamedOptimizer{"compensated",
                       {.kind = Kind::kSgd,
                        .learning_rate = 0.01,
                        .momentum = 0.9,
                        .weight_decay = 0.01,
                        .spike_compensation = true}},
        NamedOptimizer{"adam", {.kind = Kind::kAdam, .learning_rate = 0.01, .weight_decay = 0.01}},
        NamedOptimizer{"adamw", {.kind = Kind::kAdamW, .learning_rate = 0.01, .weight_decay = 0.1}},
        NamedOptimizer{"nadamw",
                       {.kind = Kind::kNAdamW, .learning_rate = 0.01, .weight_decay = 0.1}},
        NamedOptimizer{"clipped", {.learning_rate = 0.01, .clip_norm = 2}},
        NamedOptimizer{"clipped_updates", {.learning_rate = 0.01, .clip_update = 0.5}},
        NamedOptimizer{"whole_updates", {.learning_rate = 0.01, .clip_update = 0}},
        NamedOptimizer{"pipemare", {.learning_rate = 0.01, .pipemare_steps = 150}}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace millrace::pipeline
