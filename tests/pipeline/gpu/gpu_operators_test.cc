// Operators on a GPU are those of the CPU.
#include <array>
#include <string>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include "pipeline/flow/flow_loss.h"
#include "pipeline/flow/flow_pictures.h"
#include "pipeline/models/bench_networks.h"
#include "pipeline/nn/stage.h"
#include "pipeline/ops/by_operators.h"
#include "pipeline/ops/convolution.h"
#include "pipeline/ops/cuda/launcher.h"
#include "pipeline/ops/match.h"
#include "tests/pipeline/gpu/gpu_tests.h"

namespace millrace::pipeline {
namespace {

// A function of leaves, and its gradients, on both devices.
template <typename Function>
void ExpectTheSame(const std::vector<at::Tensor>& inputs, const Function& function) {
  const auto run = [&](at::Device device) {
    std::vector<at::Tensor> leaves;
    for (const at::Tensor& input : inputs) {
      leaves.push_back(input.detach().to(device, false, /*copy=*/true).requires_grad_(true));
    }
    std::vector<at::Tensor> made = {function(leaves)};
    made[0].square().sum().backward();
    for (const at::Tensor& leaf : leaves) made.push_back(leaf.grad());
    return made;
  };
  const std::vector<at::Tensor> on_gpu = run(kGpu);
  const std::vector<at::Tensor> on_cpu = run(at::kCPU);
  for (std::size_t i = 0; i < on_gpu.size(); ++i) {
    EXPECT_EQ(on_gpu[i].device(), kGpu);
    EXPECT_TRUE(Near(on_gpu[i].detach(), on_cpu[i].detach())) << i;
  }
}

TEST_F(GpuTest, ConvolutionsAreThoseOfTheCpu) {
  for (const int stride : {1, 2}) {
    ExpectTheSame({at::randn({2, 8, 10, 12}), at::randn({6, 8, 3, 3}), at::randn({6})},
                  [&](const std::vector<at::Tensor>& x) {
                    return Convolve(x[0], x[1], x[2], {.stride = stride, .slope = 0.1});
                  });
  }
}

TEST_F(GpuTest, MatchesAreThoseOfTheCpu) {
  for (const PicturePairs pairs : kAllPairs) {
    ExpectTheSame(
        {at::randn({PictureCount(pairs), 24, 8, 10}), at::randn({PairCount(pairs), 2, 8, 10})},
        [&](const std::vector<at::Tensor>& x) { return Match(x[0], x[1], pairs); });
  }
}

TEST_F(GpuTest, PicturesAreReadAsOnTheCpu) {
  const at::Tensor bytes = at::randint(0, 256, {3, 5, 7, 3}, at::kByte);
  for (const int channels : {1, 3}) {
    const at::Tensor expected = PlanesOf(bytes, channels);
    EXPECT_EQ(expected.sizes(), (std::vector<std::int64_t>{3, channels, 5, 7}));
    at::Tensor by_operators;
    {
      const gpu::WithoutKernels without;
      by_operators = PlanesOf(bytes.to(kGpu), channels).cpu();
    }
    const at::Tensor by_own = PlanesOf(bytes.to(kGpu), channels).cpu();
    EXPECT_TRUE(at::allclose(by_operators, expected, 1e-6, 1e-7)) << channels;
    EXPECT_TRUE(at::allclose(by_own, expected, 1e-6, 1e-7)) << channels;
  }
}

TEST_F(GpuTest, ObjectivesAreThoseOfTheCpu) {
  const at::Tensor pictures = at::randn({2, 1, 16, 20}).sigmoid();
  for (const std::string& name : FlowLossNames()) {
    ExpectTheSame({at::randn({1, 2, 16, 20})}, [&](const std::vector<at::Tensor>& x) {
      return ComputeFlowLoss(pictures.to(x[0].device()), x[0], {.kind = *FlowLossKind(name)})
          .objective;
    });
  }
}

// What a function makes of leaves, and their gradients.
template <typename Function>
std::vector<at::Tensor> ThereAndBack(const std::vector<at::Tensor>& inputs, at::TensorOptions where,
                                     const Function& function) {
  std::vector<at::Tensor> leaves;
  for (const at::Tensor& input : inputs) {
    leaves.push_back(input.detach().to(where, false, /*copy=*/true).requires_grad_(true));
  }
  std::vector<at::Tensor> made = {function(leaves)};
  // Weights that differ, and are the same everywhere.
  const at::Tensor weights = at::arange(made[0].numel(), at::kDouble).sin().view(made[0].sizes());
  (made[0] * weights.to(where)).sum().backward();
  for (const at::Tensor& leaf : leaves) made.push_back(leaf.grad());
  return made;
}

// To rounding: the greatest difference over the greatest value.
void ExpectClose(const std::vector<at::Tensor>& made, const std::vector<at::Tensor>& expected) {
  for (std::size_t i = 0; i < made.size(); ++i) {
    const at::Tensor difference =
        (made[i].detach().cpu().to(at::kDouble) - expected[i].detach()).abs();
    EXPECT_LE(difference.max().item<double>(), 1e-5 * expected[i].abs().max().item<double>()) << i;
  }
}

TEST_F(GpuTest, MatchesAreTheirDefinitionToRounding) {
  for (const PicturePairs pairs : kAllPairs) {
    for (const auto& [channels, height, width] :
         {std::array{24, 9, 12}, std::array{32, 7, 19}, std::array{5, 2, 3}}) {
      const at::Tensor features = at::randn({PictureCount(pairs), channels, height, width});
      const at::Tensor flow = at::randn({PairCount(pairs), 2, height, width}) * 2;
      for (const std::vector<at::Tensor>& inputs :
           {std::vector{features, flow}, std::vector{features}}) {
        const auto through = [&](const auto& x) { return inputs.size() > 1 ? x[1] : at::Tensor(); };
        const auto match = [&](const auto& x) { return Match(x[0], through(x), pairs); };
        const auto defined = [&](const auto& x) {
          return by_operators::Match(x[0], through(x), pairs);
        };
        ExpectClose(ThereAndBack(inputs, at::TensorOptions(kGpu).dtype(at::kFloat), match),
                    ThereAndBack(inputs, at::kDouble, defined));
      }
    }
  }
}

TEST_F(GpuTest, TheRelativeObjectiveIsThatOfTheCpuToRounding) {
  for (const int channels : {1, 3}) {
    for (const bool occlusion : {false, true}) {
      const FlowLossOptions options{.smoothness = 0.1, .occlusion = occlusion};
      const at::Tensor pictures = at::randn({2, channels, 16, 20}).sigmoid();
      const at::Tensor flow = at::randn({occlusion ? 2 : 1, 2, 16, 20}) * 3;
      std::vector<at::Tensor> terms;
      const auto loss = [&](const std::vector<at::Tensor>& x) {
        const FlowLoss made = ComputeFlowLoss(pictures.to(x[0].options()), x[0], options);
        terms = {made.photometric, made.no_motion};
        for (const FlowLoss::Term& term : made.terms) terms.push_back(term.value);
        return made.objective;
      };
      const auto on_gpu = ThereAndBack({flow}, at::TensorOptions(kGpu).dtype(at::kFloat), loss);
      const std::vector<at::Tensor> gpu_terms = terms;
      ExpectClose(on_gpu, ThereAndBack({flow}, at::kDouble, loss));
      ExpectClose(gpu_terms, terms);
    }
  }
}

// Its convolutions' results, but not what goes from layer to layer, and nothing that lasts.
TEST_F(GpuTest, OnGpusPrecisionIsTheNetworks) {
  for (const Precision precision : {Precision::kFloat32, Precision::kBFloat16}) {
    const BenchNetworkOptions options{
        .layers = 2, .channels = 4, .height = 32, .width = 32, .precision = precision};
    const LayerChain chain = *MakeBenchNetwork("conv", options);
    for (const auto& layer : chain.layers) MoveTo(kGpu, *layer);
    const Stage stage = WholeChain(chain);
    const at::Tensor made = stage.Forward({MakeBenchSamples(options, 1)[0].to(kGpu)})[0];
    EXPECT_EQ(made.scalar_type(), at::kFloat);
    EXPECT_EQ(at::equal(made.to(at::kBFloat16).to(at::kFloat), made),
              precision == Precision::kBFloat16);
    made.sum().backward();
    for (const at::Tensor& parameter : stage.parameters()) {
      EXPECT_EQ(parameter.grad().scalar_type(), at::kFloat);
    }
  }
}

}  // namespace
}  // namespace millrace::pipeline
