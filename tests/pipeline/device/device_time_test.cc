#include "pipeline/device/device_time.h"

#include <chrono>
#include <future>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::pipeline {
namespace {

using Time = GpuTimes::Time;

Time At(int ms) { return Time(std::chrono::milliseconds(ms)); }

std::vector<std::pair<Time, Time>> JoinSpans(const std::vector<std::pair<int, int>>& spans) {
  std::vector<GpuTimes::Span> given;
  for (const auto& [begin, end] : spans) given.push_back({At(begin), At(end)});
  std::vector<std::pair<Time, Time>> joined;
  for (const GpuTimes::Span& span : pipeline::JoinSpans(std::move(given))) {
    joined.emplace_back(span.begin, span.end);
  }
  return joined;
}

// As on a busy machine, where a thread waits for a core.
TEST(DeviceTimeTest, WaitingIsNoWorkOfTheCpu) {
  std::promise<void> done;
  std::jthread other;
  double waited_ms = 0;
  const double worked_ms = MillisecondsOf(at::kCPU, [&] {
    const auto start = std::chrono::steady_clock::now();
    other = std::jthread([&] {
      // For so long that it cannot be overlooked.
      while (std::chrono::steady_clock::now() < start + std::chrono::milliseconds(50)) {
      }
      done.set_value();
    });
    done.get_future().wait();
    waited_ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  });
  EXPECT_GE(waited_ms, 50);
  EXPECT_GT(worked_ms, 0);
  EXPECT_LT(worked_ms, 0.5 * waited_ms);
}

TEST(JoinSpansTest, WhatOverlapsOrTouchesIsOne) {
  const std::vector<std::pair<Time, Time>> expected = {{At(0), At(9)}, {At(10), At(12)}};
  EXPECT_EQ(JoinSpans({{10, 12}, {5, 6}, {0, 2}, {1, 9}, {2, 3}, {10, 11}}), expected);
  EXPECT_TRUE(JoinSpans({}).empty());
}

}  // namespace
}  // namespace millrace::pipeline
