#include "pipeline/device_time.h"

#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::pipeline {
namespace {

using Time = GpuTimes::Time;

Time At(int ms) { return Time(std::chrono::milliseconds(ms)); }

std::vector<std::pair<Time, Time>> Joined(const std::vector<std::pair<int, int>>& spans) {
  std::vector<GpuTimes::Span> given;
  for (const auto& [begin, end] : spans) given.push_back({At(begin), At(end)});
  std::vector<std::pair<Time, Time>> joined;
  for (const GpuTimes::Span& span : pipeline::Joined(std::move(given))) {
    joined.emplace_back(span.begin, span.end);
  }
  return joined;
}

TEST(JoinedSpansTest, WhatOverlapsOrTouchesIsOne) {
  const std::vector<std::pair<Time, Time>> expected = {{At(0), At(9)}, {At(10), At(12)}};
  EXPECT_EQ(Joined({{10, 12}, {5, 6}, {0, 2}, {1, 9}, {2, 3}, {10, 11}}), expected);
  EXPECT_TRUE(Joined({}).empty());
}

}  // namespace
}  // namespace millrace::pipeline
