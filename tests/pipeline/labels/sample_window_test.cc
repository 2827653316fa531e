#include "pipeline/labels/sample_window.h"

#include <vector>

#include <ATen/ops/full.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::pipeline {
namespace {

using ::testing::ElementsAre;

std::vector<float> Rows(const at::Tensor& batch) {
  std::vector<float> rows;
  for (std::int64_t row = 0; row < batch.size(0); ++row) {
    rows.push_back(batch[row][0].item<float>());
  }
  return rows;
}

TEST(SampleWindowTest, NewSampleTakesTheRowOfTheOldest) {
  SampleWindow window(3);
  const auto add = [&](float value) { return window.Add(at::full({2}, value)); };
  const at::Tensor first = add(10);
  EXPECT_THAT(Rows(first), ElementsAre(10, 10, 10));
  EXPECT_THAT(Rows(add(11)), ElementsAre(10, 11, 10));
  EXPECT_THAT(Rows(add(12)), ElementsAre(10, 11, 12));
  EXPECT_THAT(Rows(add(13)), ElementsAre(13, 11, 12));
  EXPECT_THAT(Rows(add(14)), ElementsAre(13, 14, 12));
  EXPECT_THAT(Rows(first), ElementsAre(10, 10, 10)) << "those in flight keep theirs";
}

// With one row the batch used to be the sample itself, in memory that the caller had only lent.
TEST(SampleWindowTest, BatchDoesNotShareTheSamplesMemory) {
  SampleWindow window(1);
  at::Tensor sample = at::full({2}, 5.F);
  const at::Tensor batch = window.Add(sample);
  sample.fill_(6);
  EXPECT_THAT(Rows(batch), ElementsAre(5));
}

TEST(SampleWindowTest, WindowOfOneIsTheSample) {
  SampleWindow window(1);
  for (const float value : {3.F, 4.F}) {
    EXPECT_THAT(Rows(window.Add(at::full({1, 2, 2}, value)).flatten(1)), ElementsAre(value));
  }
}

}  // namespace
}  // namespace millrace::pipeline
