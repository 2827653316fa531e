#include "pipeline/wires/link_probe.h"

#include <thread>

#include <gtest/gtest.h>

#include "tests/pipeline/support/fake_wires.h"

namespace millrace::pipeline {
namespace {

constexpr int kTag = 8;

TEST(LinkProbeTest, OneSideMeasuresAndTheOtherAnswers) {
  FakeWires wires(2);
  std::jthread other([&] { EXPECT_TRUE(AnswerProbe(wires.of(0), /*rank=*/1, kTag).ok()); });
  const auto megabyte = ProbeLink(wires.of(1), /*rank=*/0, kTag);
  ASSERT_TRUE(megabyte.ok()) << megabyte.status();
  EXPECT_GE(megabyte->count(), 0);
}

TEST(LinkProbeTest, ALostRankEndsBothSides) {
  for (int messages = 0; messages < 12; ++messages) {
    FakeWires wires(3);
    wires.LoseAfter(messages, /*rank=*/messages % 2);
    if (messages == 0) wires.of(0).Abort(absl::CancelledError("the end"));
    std::jthread other([&] { EXPECT_FALSE(AnswerProbe(wires.of(0), /*rank=*/1, kTag).ok()); });
    EXPECT_FALSE(ProbeLink(wires.of(1), /*rank=*/0, kTag).ok()) << messages;
  }
}

}  // namespace
}  // namespace millrace::pipeline
