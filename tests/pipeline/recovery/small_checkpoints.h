// Checkpoints of the small network, for tests of writing and reading them.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include "pipeline/recovery/checkpoints.h"
#include "tests/pipeline/support/small_chain.h"

namespace millrace::pipeline {

// What SmallChain() holds after `sample`: every number is that, so that no two mix unnoticed.
inline Checkpoint CheckpointAfter(std::int64_t sample, const LayerChain& chain,
                                  Cuts cuts = {2, 4}) {
  Checkpoint checkpoint{.network = {.sample = sample, .layers = {}},
                        .cuts = std::move(cuts),
                        .facts = {{"position", std::to_string(10 * sample)}}};
  for (const auto& layer : chain.layers) {
    LayerState state{.optimizer = {.counts = {.updates = sample, .skipped = 1}}};
    for (const at::Tensor& parameter : layer->parameters()) {
      state.parameters.push_back(at::full(parameter.sizes(), static_cast<double>(sample)));
      state.optimizer.of_parameters.push_back(
          {at::full(parameter.sizes(), static_cast<double>(sample) + 0.5)});
    }
    checkpoint.network.layers.push_back(std::move(state));
  }
  return checkpoint;
}

inline void ExpectSame(const Checkpoint& a, const Checkpoint& b) {
  EXPECT_EQ(a.network.sample, b.network.sample);
  EXPECT_EQ(a.facts, b.facts);
  ASSERT_EQ(a.network.layers.size(), b.network.layers.size());
  for (std::size_t i = 0; i < a.network.layers.size(); ++i) {
    const LayerState& x = a.network.layers[i];
    const LayerState& y = b.network.layers[i];
    EXPECT_EQ(x.optimizer.counts.updates, y.optimizer.counts.updates);
    EXPECT_EQ(x.optimizer.counts.skipped, y.optimizer.counts.skipped);
    ASSERT_EQ(x.parameters.size(), y.parameters.size());
    ASSERT_EQ(x.optimizer.of_parameters.size(), y.optimizer.of_parameters.size());
    for (std::size_t k = 0; k < x.parameters.size(); ++k) {
      EXPECT_TRUE(at::equal(x.parameters[k], y.parameters[k]));
      ASSERT_EQ(x.optimizer.of_parameters[k].size(), 1U);
      EXPECT_TRUE(at::equal(x.optimizer.of_parameters[k][0], y.optimizer.of_parameters[k][0]));
    }
  }
}

/// A folder for checkpoints of the small network.
class CheckpointFolderTest : public ::testing::Test {
 public:
  ~CheckpointFolderTest() override { std::filesystem::remove_all(folder_); }

 protected:
  CheckpointFolderTest()
      : folder_(std::filesystem::path(::testing::TempDir()) /
                (std::string("checkpoints_test_") +
                 ::testing::UnitTest::GetInstance()->current_test_info()->name() +
                 std::to_string(::getpid()))) {}

  [[nodiscard]] Checkpoints Open(int keep = 3) const {
    return *Checkpoints::Open({.folder = folder_.string(), .keep = keep}, chain_);
  }
  [[nodiscard]] Checkpoint After(std::int64_t sample) const {
    return CheckpointAfter(sample, chain_);
  }
  void Write(const std::vector<std::int64_t>& samples) const {
    Checkpoints checkpoints = Open();
    for (std::int64_t sample : samples) ASSERT_TRUE(checkpoints.Write(After(sample)).ok());
  }
  [[nodiscard]] std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  [[nodiscard]] std::filesystem::path FileOf(int sample, const std::string& name) const {
    std::string number = std::to_string(sample);
    number.insert(0, 12 - number.size(), '0');
    return folder_ / ("checkpoint-" + number) / name;
  }

  const LayerChain chain_ = SmallChain();
  const std::filesystem::path folder_;
};

}  // namespace millrace::pipeline
