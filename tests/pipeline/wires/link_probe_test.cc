#include "pipeline/wires/link_probe.h"

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <thread>

#include <gtest/gtest.h>

#include "tests/pipeline/support/fake_wires.h"

namespace millrace::pipeline {
namespace {

constexpr int kTag = 8;

// Wires whose sends take 40 ms for a megabyte, at least.
class SlowWires final : public Wires {
 public:
  explicit SlowWires(Wires& wires) : wires_(wires) {}
  std::unique_ptr<WireTransfer> Send(int rank, int tag, std::span<const std::byte> bytes) override {
    std::this_thread::sleep_for(std::chrono::nanoseconds(40 * bytes.size()));
    return wires_.Send(rank, tag, bytes);
  }
  std::unique_ptr<WireTransfer> Receive(int rank, int tag, std::span<std::byte> bytes) override {
    return wires_.Receive(rank, tag, bytes);
  }
  void Abort(const absl::Status& cause) override { wires_.Abort(cause); }

 private:
  Wires& wires_;
};

TEST(LinkProbeTest, OneSideMeasuresAndTheOtherAnswers) {
  FakeWires wires(2);
  SlowWires slow(wires.of(1));
  std::jthread other([&] { EXPECT_TRUE(AnswerProbe(wires.of(0), /*rank=*/1, kTag).ok()); });
  const auto megabyte = ProbeLink(slow, /*rank=*/0, kTag);
  ASSERT_TRUE(megabyte.ok()) << megabyte.status();
  // Of three probes, the fastest counts. A busy machine makes each slower, and never faster.
  EXPECT_GE(*megabyte, std::chrono::milliseconds(30));
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
