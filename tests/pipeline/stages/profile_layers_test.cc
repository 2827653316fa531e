#include "pipeline/stages/profile_layers.h"

#include <cmath>

#include <ATen/Context.h>
#include <ATen/ops/bernoulli.h>
#include <ATen/ops/full_like.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/device/live_bytes.h"
#include "pipeline/flow/flow_profile.h"
#include "tests/pipeline/support/small_chain.h"

namespace millrace::pipeline {
namespace {

constexpr double kRow = kWidth * sizeof(float);

// Draws random numbers, counts its forwards and has a parameter.
class RestlessLayer final : public Layer {
 public:
  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] LayerValues Forward(const LayerValues& inputs) const override {
    forwards_.add_(1);
    return {inputs.main * at::bernoulli(at::full_like(inputs.main, 0.5)) * weight_, {}};
  }
  [[nodiscard]] std::vector<at::Tensor> parameters() const override { return {weight_}; }
  [[nodiscard]] std::vector<at::Tensor> buffers() const override { return {forwards_}; }

 private:
  const std::string name_ = "restless";
  // Adding 0 to -0 makes another number of it.
  const at::Tensor weight_ = at::full({kWidth}, -0.0F).set_requires_grad(true);
  const at::Tensor forwards_ = at::full({1}, 0.0F);
};

// Counts forwards, and requests a stop at the second one.
class StoppingLayer final : public Layer {
 public:
  StoppingLayer(std::stop_source& stop, int& forwards) : stop_(stop), forwards_(forwards) {}
  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] LayerValues Forward(const LayerValues& inputs) const override {
    if (++forwards_ == 2) stop_.request_stop();
    return {inputs.main * weight_, {}};
  }
  [[nodiscard]] std::vector<at::Tensor> parameters() const override { return {weight_}; }

 private:
  const std::string name_ = "stopping";
  std::stop_source& stop_;
  int& forwards_;
  const at::Tensor weight_ = at::full({kWidth}, 1.0F).set_requires_grad(true);
};

NetworkProfile Profile(const LayerChain& chain, int runs = 5) {
  const at::Tensor input = at::full({1, kWidth}, 0.5);
  return ProfileLayers(chain, input,
                       [&](const at::Tensor& output) { return SmallLoss(input, output); },
                       {.runs = runs});
}

// All that profiling could change, as bytes.
std::vector<std::string> BitsOf(const LayerChain& chain) {
  std::vector<std::string> bits;
  const auto add = [&bits](const at::Tensor& tensor) {
    bits.emplace_back(static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes());
  };
  for (const auto& layer : chain.layers) {
    for (const at::Tensor& parameter : layer->parameters()) {
      add(parameter);
      if (parameter.grad().defined()) add(parameter.grad());
    }
    for (const at::Tensor& buffer : layer->buffers()) add(buffer);
  }
  add(at::globalContext().defaultGenerator(at::kCPU).get_state());
  return bits;
}

TEST(ProfileLayersTest, LeavesTheModelAndTheRandomNumbersAsTheyAre) {
  LayerChain chain = SmallChain();
  chain.layers.push_back(std::make_unique<RestlessLayer>());
  const at::Tensor known = chain.layers[2]->parameters()[0];
  known.mutable_grad() = at::full_like(known, 3);
  const auto before = BitsOf(chain);
  static_cast<void>(Profile(chain));
  EXPECT_TRUE(BitsOf(chain) == before);  // Not EXPECT_EQ: it would print thousands of bytes.
}

TEST(ProfileLayersTest, EveryLayerHasItsNameAndItsTimes) {
  const NetworkProfile network = Profile(SplitChain());
  ASSERT_EQ(network.layers.size(), std::size_t{kSmallLayers});
  for (int i = 0; i < kSmallLayers; ++i) {
    const LayerProfile& layer = network.layers[i];
    EXPECT_EQ(layer.name, "layer " + std::to_string(i));
    EXPECT_GT(layer.cost.forward, 0);
    EXPECT_GT(layer.cost.backward, 0);
    EXPECT_GT(layer.cost.update, 0);
    EXPECT_GT(layer.cost.weight_gradient, 0);
    EXPECT_LT(layer.cost.weight_gradient, layer.cost.backward);
    EXPECT_DOUBLE_EQ(layer.cost.copy, layer.output_bytes / network.copy_gb_per_s / 1e6);
  }
  ASSERT_TRUE(network.spread.has_value());
  EXPECT_GT(*network.spread, 0);
  EXPECT_TRUE(std::isfinite(*network.spread));
}

TEST(ProfileLayersTest, BytesAreThoseOfWeightsCutsAndWhatIsKept) {
  const NetworkProfile network = Profile(SmallChain());
  for (int i = 0; i < kSmallLayers; ++i) {
    const LayerProfile& layer = network.layers[i];
    EXPECT_EQ(layer.weight_bytes, (kWidth + 1) * kRow);
    // The skip goes from layer 0 to the last but one.
    EXPECT_EQ(layer.output_bytes, (i < kSmallLayers - 2 ? 2 : 1) * kRow) << i;
    EXPECT_GE(layer.activation_bytes, 2 * kRow) << "input and output";
    EXPECT_LE(layer.activation_bytes, 1024);
  }
  ASSERT_EQ(network.skips.size(), 1U);
  EXPECT_EQ(network.skips[0].from, 0);
  EXPECT_EQ(network.skips[0].to, kSmallLayers - 2);
  EXPECT_EQ(network.skips[0].bytes, kRow);
  EXPECT_EQ(network.input_bytes, kRow);
  // A sum with a skip keeps the tanh and makes one tensor more of it, and reads one more.
  EXPECT_GE(network.layers[kSmallLayers - 2].activation_bytes,
            network.layers[1].activation_bytes + 2 * kRow);
}

TEST(ProfileLayersTest, EndsSoonOnceItIsStopped) {
  std::stop_source stop;
  stop.request_stop();
  const LayerChain chain = SmallChain();
  bool judged = false;
  static_cast<void>(ProfileLayers(chain, at::full({1, kWidth}, 0.5),
                                  [&](const at::Tensor& output) {
                                    judged = true;
                                    return output.sum();
                                  },
                                  {.runs = 100, .stop = stop.get_token()}));
  EXPECT_FALSE(judged);
}

// A network with an input of millions of pixels needs seconds for each sample.
TEST(ProfileLayersTest, TimesOneSampleWhenTheTimeIsUp) {
  const LayerChain chain = SmallChain();
  int samples = 0;
  const NetworkProfile network =
      ProfileLayers(chain, at::full({1, kWidth}, 0.5),
                    [&](const at::Tensor& output) {
                      ++samples;
                      return output.sum();
                    },
                    {.runs = 100, .limit = std::chrono::milliseconds(0)});
  EXPECT_EQ(samples, 2) << "the first shows the memory";
  for (const LayerProfile& layer : network.layers) EXPECT_GT(layer.cost.forward, 0);
  EXPECT_EQ(network.spread, std::nullopt);
}

TEST(ProfileLayersTest, TheFlowNetworkCostsMostInItsConvolutions) {
  const auto flow = ProfileFlow({.width = 64, .height = 64}, {.network = "flow"}, /*runs=*/3);
  ASSERT_TRUE(flow.ok()) << flow.status();
  const std::vector<LayerProfile>& layers = flow->costs.layers;
  ASSERT_EQ(layers.size(), 11U);
  // Two pictures of one channel, and the first convolution's 16 at half the size.
  EXPECT_GE(layers[0].activation_bytes, 4 * (2 * 64 * 64 + 2 * 16 * 32 * 32));
  EXPECT_EQ(layers[10].output_bytes, 4 * 2 * 64 * 64);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(ProfileFlow({.width = 64, .height = 64}, {}, 3, stop.get_token()).status().code(),
            absl::StatusCode::kCancelled);
}

TEST(LiveBytesTest, CountsWhatIsLeft) {
  at::Tensor after;
  const double bytes = BytesLeftBy([&] {
    static_cast<void>(at::full({500}, 1.0F));
    after = at::full({100}, 1.0F);
  });
  EXPECT_EQ(bytes, 400);
}

// The first that is looked at is how large things are, before anything is timed.
TEST(ProfileLayersTest, EndsAfterTheLayerAtHandFromTheFirstForwardOn) {
  const at::Tensor input = at::full({1, kWidth}, 0.5);
  const auto objective = [](const at::Tensor& output) { return output.sum(); };
  for (const bool timed : {true, false}) {
    std::stop_source stop;
    int forwards = 0;
    LayerChain chain;
    for (int i = 0; i < 6; ++i) {
      chain.layers.push_back(std::make_unique<StoppingLayer>(stop, forwards));
    }
    if (timed) {
      static_cast<void>(ProfileLayers(chain, input, objective, {.stop = stop.get_token()}));
    } else {
      static_cast<void>(MeasureMemory(chain, input, objective, stop.get_token()));
    }
    EXPECT_EQ(forwards, 2);
  }
}

}  // namespace
}  // namespace millrace::pipeline
