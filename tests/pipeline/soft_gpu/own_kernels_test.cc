// Kernels of our own take the place of many operators, whose work they do.
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include "pipeline/flow/flow_loss.h"
#include "pipeline/ops/cuda/launcher.h"
#include "pipeline/ops/match.h"
#include "pipeline/optim/optimizer.h"
#include "tests/pipeline/soft_gpu/streams.h"

namespace millrace::soft_gpu {
namespace {

const at::Device kGpu(at::kCUDA, 0);

// What is made of a leaf, its gradient, and how much was put into streams for that.
template <typename Function>
std::pair<std::vector<at::Tensor>, std::int64_t> WithPuts(const at::Tensor& input, bool own_kernels,
                                                          const Function& function) {
  std::optional<pipeline::gpu::WithoutKernels> without;
  if (!own_kernels) without.emplace();
  const at::Tensor leaf = input.to(kGpu, false, /*copy=*/true).requires_grad_(true);
  const std::int64_t before = Streams::Get().puts();
  const at::Tensor made = function(leaf);
  made.sum().backward();
  const std::int64_t puts = Streams::Get().puts() - before;
  return {{made.detach().cpu(), leaf.grad().cpu()}, puts};
}

// A GPU that has none, because the program was built without a toolkit, does the same with more.
template <typename Function>
void ExpectLess(const at::Tensor& input, const Function& function) {
  const auto [own, puts] = WithPuts(input, true, function);
  const auto [composed, composed_puts] = WithPuts(input, false, function);
  EXPECT_GT(puts, 0);
  EXPECT_GE(composed_puts, 5 * puts) << puts;
  for (std::size_t i = 0; i < own.size(); ++i) {
    EXPECT_TRUE(at::allclose(own[i], composed[i], 1e-3, 1e-5)) << i;
  }
}

// Of the same numbers in every run: where a pixel's match lies at the edge of the picture, rounding
// decides whether it teaches.
TEST(OwnKernelsTest, TakeThePlaceOfManyOperators) {
  at::manual_seed(1);
  const at::Tensor flow = at::randn({1, 2, 8, 10}).to(kGpu);
  ExpectLess(at::randn({2, 24, 8, 10}), [&](const at::Tensor& features) {
    return pipeline::Match(features, flow, pipeline::PicturePairs::kOne);
  });
  const at::Tensor pictures = at::randn({2, 1, 16, 20}).sigmoid().to(kGpu);
  ExpectLess(at::randn({1, 2, 16, 20}), [&](const at::Tensor& moved) {
    return pipeline::ComputeFlowLoss(pictures, moved, {}).objective;
  });
}

// With enough parameters for several launches in a step.
std::pair<std::vector<at::Tensor>, std::int64_t> SteppedWithPuts(
    const pipeline::OptimizerOptions& options, bool own_kernels) {
  constexpr int kParameters = 70;
  constexpr int kSteps = 5;
  std::optional<pipeline::gpu::WithoutKernels> without;
  if (!own_kernels) without.emplace();
  at::manual_seed(1);
  std::vector<at::Tensor> parameters;
  for (int i = 0; i < kParameters; ++i) {
    parameters.push_back(at::randn({2, 1 + i % 5}).to(kGpu).requires_grad_(true));
  }
  const auto optimizer = pipeline::MakeOptimizer(options, parameters);
  std::int64_t puts = 0;
  for (int step = 0; step < kSteps; ++step) {
    for (const at::Tensor& parameter : parameters) {
      parameter.mutable_grad() = at::randn(parameter.sizes()).to(kGpu);
    }
    const std::int64_t before = Streams::Get().puts();
    optimizer->Step();
    puts += Streams::Get().puts() - before;
  }
  for (at::Tensor& parameter : parameters) parameter = parameter.detach().cpu();
  return {parameters, puts};
}

TEST(OwnKernelsTest, StepManyParametersAtOnce) {
  using Kind = pipeline::OptimizerOptions::Kind;
  for (const pipeline::OptimizerOptions& options :
       {pipeline::OptimizerOptions{.learning_rate = 0.01, .weight_decay = 0.01, .clip_update = 0},
        pipeline::OptimizerOptions{.learning_rate = 0.01, .weight_decay = 0.01, .clip_update = 0.5},
        pipeline::OptimizerOptions{.kind = Kind::kSgd,
        .learning_rate = 0.01,
        .momentum = 0.9,
        .weight_decay = 0.01,
        .spike_compensation = true}}) {
    const auto [own, puts] = SteppedWithPuts(options, true);
    const auto [composed, composed_puts] = SteppedWithPuts(options, false);
    EXPECT_GT(puts, 0);
    EXPECT_LE(2 * puts, composed_puts);
    for (std::size_t i = 0; i < own.size(); ++i) {
      EXPECT_TRUE(at::allclose(own[i], composed[i], 1e-5, 1e-6)) << i;
    }
  }
}

}  // namespace
}  // namespace millrace::soft_gpu
