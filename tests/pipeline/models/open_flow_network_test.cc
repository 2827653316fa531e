#include "pipeline/models/open_flow_network.h"

#include <filesystem>
#include <string>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/rand.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>

#include "pipeline/nn/stage.h"
#include "tests/pipeline/support/flow_modules.h"

namespace millrace::pipeline {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int kWidth = 80;
constexpr int kHeight = 64;

// Hands on the mean of the first three channels and of the last three: what it read, as a flow.
torch::jit::Module Means() {
  torch::jit::Module child("Means");
  child.define(
      "def forward(self, x):\n"
      "  return torch.stack([x[:, :3].mean(1), x[:, 3:].mean(1)], 1)\n");
  return child;
}

torch::jit::Module Fails() {
  torch::jit::Module child("Fails");
  child.define("def forward(self, x):\n  return x.view([7])\n");
  return child;
}

class OpenFlowNetworkTest : public ::testing::Test {
 protected:
  ~OpenFlowNetworkTest() override { std::filesystem::remove(path_); }

  void Save(const std::vector<torch::jit::Module>& children) const {
    torch::jit::Module network("Network");
    int number = 0;
    for (const auto& child : children) network.register_module(std::to_string(number++), child);
    network.define("def forward(self, x):\n  return x\n");
    network.save(path_);
  }

  [[nodiscard]] absl::StatusOr<NetworkWithState> Open(
      PicturePairs pairs = PicturePairs::kOne) const {
    return OpenFlowNetwork({.name = path_, .pairs = pairs}, kWidth, kHeight);
  }

  const std::string path_ =
      std::filesystem::temp_directory_path() /
      ("millrace_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()) +
       ".pt");
};

TEST_F(OpenFlowNetworkTest, AFilesNetworkReadsThePreviousPictureFirst) {
  Save({Means()});
  const auto opened = Open();
  ASSERT_TRUE(opened.ok()) << opened.status();
  const at::Tensor pictures = at::rand({2, 3, kHeight, kWidth});
  const at::Tensor made = WholeChain(opened->chain).Forward({pictures})[0];
  EXPECT_TRUE(at::equal(made[0][0], pictures[0].mean(0)));
  EXPECT_TRUE(at::equal(made[0][1], pictures[1].mean(0)));
}

TEST_F(OpenFlowNetworkTest, BothWaysTheSecondSampleIsThePicturesSwapped) {
  Save({Means()});
  const auto opened = Open(PicturePairs::kBothWays);
  ASSERT_TRUE(opened.ok()) << opened.status();
  const at::Tensor made = WholeChain(opened->chain).Forward({at::rand({2, 3, kHeight, kWidth})})[0];
  EXPECT_TRUE(at::equal(made[1], made[0].flip(0)));
}

TEST_F(OpenFlowNetworkTest, StateHasTheNamesAndTheMemoryOfTheFilesTensors) {
  Save({Convolution("A", 6, 4), Convolution("B", 4, 2)});
  const auto opened = Open();
  ASSERT_TRUE(opened.ok()) << opened.status();
  std::vector<std::string> names;
  for (const auto& [name, tensor] : opened->state) names.push_back(name);
  EXPECT_THAT(names, ::testing::ElementsAre("0.weight", "0.bias", "1.weight", "1.bias"));
  ASSERT_EQ(opened->chain.layers.size(), 3u) << "ours, and the file's two";
  EXPECT_EQ(opened->chain.layers[1]->parameters()[0].data_ptr(),
            opened->state[0].second.data_ptr());
}

TEST_F(OpenFlowNetworkTest, WhatMakesNoFlowIsRefusedWithBothSizes) {
  Save({Convolution("A", 6, 3)});
  EXPECT_THAT(std::string(Open().status().message()),
              AllOf(HasSubstr(path_), HasSubstr("[1, 3, 64, 80] of Float"),
                    HasSubstr("[1, 2, 64, 80] of Float, is needed")));
}

TEST_F(OpenFlowNetworkTest, WhatFailsIsRefusedWithItsCause) {
  Save({Convolution("A", 6, 2), Fails()});
  const absl::Status status = Open().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("it fails on a pair of pictures, of 6 channels, 80x64"),
                    HasSubstr("shape '[7]' is invalid")));
}

TEST_F(OpenFlowNetworkTest, AFileThatIsNotThereIsNotFound) {
  EXPECT_EQ(Open().status().code(), absl::StatusCode::kNotFound);
}

TEST(OpenFlowNetworkByNameTest, StateIsItsParametersByLayerAndNumber) {
  const auto opened = OpenFlowNetwork({.name = "flow"}, kWidth, kHeight);
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(opened->state.front().first, "features 1/2.0");
}

}  // namespace
}  // namespace millrace::pipeline
