#include "pipeline/tensor_files/tensor_file.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::pipeline {
namespace {

using ::testing::HasSubstr;

class TensorFileTest : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }
  const std::string path_ =
      std::filesystem::path(::testing::TempDir()) / ("tensors" + std::to_string(::getpid()));
};

// data/python_samples.pt is what PyTorch 1.13 made of
// torch.save({"inputs": torch.arange(6.).view(3, 2), "targets": torch.tensor([2, 0, 1])}, ...).
TEST_F(TensorFileTest, ReadsWhatPythonWrote) {
  const auto read =
      ReadTensors(MILLRACE_SOURCE_DIR "/tests/pipeline/tensor_files/data/python_samples.pt");
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->size(), 2U);
  EXPECT_TRUE(at::equal(FindTensor(*read, "inputs"), at::arange(6, at::kFloat).view({3, 2})));
  const at::Tensor targets = FindTensor(*read, "targets");
  EXPECT_EQ(targets.scalar_type(), at::kLong);
  EXPECT_EQ(targets[0].item<int>(), 2);
  EXPECT_FALSE(FindTensor(*read, "outputs").defined());
}

// Of PyTorch 1.13, too: x = torch.arange(300.).view(100, 3), and
// torch.save({"inputs": x[:, :2], "targets": x[:, 2]}, ...). It saves what both are views of once.
TEST_F(TensorFileTest, ReadsViewsOfOneTensor) {
  const auto read =
      ReadTensors(MILLRACE_SOURCE_DIR "/tests/pipeline/tensor_files/data/python_views.pt");
  ASSERT_TRUE(read.ok()) << read.status();
  const at::Tensor whole = at::arange(300, at::kFloat).view({100, 3});
  EXPECT_TRUE(at::equal(FindTensor(*read, "inputs"), whole.slice(1, 0, 2)));
  EXPECT_TRUE(at::equal(FindTensor(*read, "targets"), whole.select(1, 2)));
}

TEST_F(TensorFileTest, WhatIsWrittenComesBack) {
  const at::Tensor whole = at::randn({4, 6});
  const NamedTensors tensors = {{"part", whole.slice(1, 2, 4)},
                                {"turned", whole.t()},
                                {"numbers", at::arange(3, at::kLong)},
                                {"none", at::ones({0, 2})}};
  ASSERT_TRUE(WriteTensors(path_, tensors).ok());
  const auto read = ReadTensors(path_);
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->size(), tensors.size());
  for (const auto& [name, tensor] : tensors) {
    EXPECT_TRUE(at::equal(FindTensor(*read, name), tensor)) << name;
  }
  // A view does not bring what it is a view of.
  EXPECT_EQ(FindTensor(*read, "part").storage().nbytes(), 4 * 2 * sizeof(float));
}

TEST_F(TensorFileTest, OtherFilesAreRefused) {
  EXPECT_TRUE(absl::IsNotFound(ReadTensors(path_).status()));
  std::ofstream(path_) << "no tensors in here";
  const absl::Status refused = ReadTensors(path_).status();
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("torch.save"));
}

}  // namespace
}  // namespace millrace::pipeline
