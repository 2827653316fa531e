#include "pipeline/device/live_bytes.h"

#include <thread>

#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

namespace millrace::pipeline {
namespace {

TEST(LiveBytesTest, WhatIsFreedDoesNotCount) {
  at::Tensor kept;
  const double bytes = BytesLeftBy([&] {
    const at::Tensor freed = at::empty({1'000'000}, at::kFloat);
    kept = at::empty({1'000}, at::kFloat);
  });
  EXPECT_EQ(bytes, 4'000);
}

TEST(LiveBytesTest, WhatWasThereBeforeAndWhatAnotherThreadMakesDoesNotCount) {
  const at::Tensor before = at::empty({1'000}, at::kFloat);
  at::Tensor others;
  at::Tensor view;
  EXPECT_EQ(BytesLeftBy([&] {
              view = before.view({10, 100});
              std::jthread([&] { others = at::empty({1'000}, at::kFloat); }).join();
            }),
            0);
}

}  // namespace
}  // namespace millrace::pipeline
