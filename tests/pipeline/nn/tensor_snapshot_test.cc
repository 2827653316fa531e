#include "pipeline/nn/tensor_snapshot.h"

#include <stdexcept>
#include <string>

#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/nn/network_state.h"
#include "tests/pipeline/support/small_chain.h"

namespace millrace::pipeline {
namespace {

using ::testing::HasSubstr;

TEST(TensorSnapshotTest, RestoresWhatItTookIntoALeaf) {
  const at::Tensor parameter = at::full({3}, 2.0).set_requires_grad(true);
  const auto version = parameter._version();
  const TensorSnapshot before({parameter});
  parameter.variable_data().fill_(5);
  before.Restore({parameter});
  EXPECT_TRUE(at::equal(parameter.detach(), at::full({3}, 2.0)));
  EXPECT_EQ(parameter._version(), version) << "autograd sees no change";
}

TEST(TensorSnapshotTest, RestoresOnlyWhereTheFlagIsFalse) {
  const at::Tensor tensor = at::full({3}, 2.0);
  const TensorSnapshot before({tensor});
  tensor.fill_(5);
  before.RestoreUnless(at::full({}, true, at::kBool), {tensor});
  EXPECT_TRUE(at::equal(tensor, at::full({3}, 5.0)));
  before.RestoreUnless(at::full({}, false, at::kBool), {tensor});
  EXPECT_TRUE(at::equal(tensor, at::full({3}, 2.0)));
}

TEST(TensorSnapshotTest, NamesTheTensorThatHasAnotherShape) {
  const TensorSnapshot before({at::zeros({2}), at::zeros({4})});
  try {
    before.Restore({at::zeros({2}), at::zeros({2, 3})});
    FAIL() << "it restored";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "cannot restore tensor 1: its shape is [2, 3], and was [4]");
  }
}

TEST(TensorSnapshotTest, NamesTheLayerWhoseParameterHasAnotherShape) {
  const LayerChain chain = SmallChain();
  std::vector<LayerState> layers;
  for (const auto& layer : chain.layers) layers.push_back(ValuesOf(*layer));
  RestoreValues(layers, chain);
  layers[2].parameters[0] = at::zeros({7, 7, 7});
  try {
    RestoreValues(layers, chain);
    FAIL() << "it restored";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(std::string(error.what()),
                HasSubstr("cannot restore layer \"layer 2\", parameter 0: its shape is ["));
  }
}

}  // namespace
}  // namespace millrace::pipeline
