// The fake that other tests rely on keeps the promises of Wires.
#include "tests/pipeline/support/fake_wires.h"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::pipeline {
namespace {

using ::testing::HasSubstr;

std::span<const std::byte> BytesOf(const int& value) { return std::as_bytes(std::span(&value, 1)); }
std::span<std::byte> BytesOf(int& value) { return std::as_writable_bytes(std::span(&value, 1)); }

TEST(FakeWiresTest, MessagesOfATagArriveInOrder) {
  constexpr int kMessages = 200;
  FakeWires wires(2, 5);
  std::vector<int> sent(kMessages);
  std::vector<int> received(kMessages);
  const auto tag_of = [](int i) { return i % 3; };
  std::jthread sender([&] {
    std::vector<std::unique_ptr<WireTransfer>> transfers;
    for (int i = 0; i < kMessages; ++i) {
      sent[i] = i;
      transfers.push_back(wires.of(0).Send(1, tag_of(i), BytesOf(std::as_const(sent[i]))));
    }
    for (const auto& transfer : transfers) EXPECT_TRUE(transfer->Wait().ok());
  });
  std::vector<std::unique_ptr<WireTransfer>> transfers;
  for (int i = 0; i < kMessages; ++i) {
    transfers.push_back(wires.of(1).Receive(0, tag_of(i), BytesOf(received[i])));
  }
  for (const auto& transfer : transfers) EXPECT_TRUE(transfer->Wait().ok());
  for (int i = 0; i < kMessages; ++i) EXPECT_EQ(received[i], i);
}

TEST(FakeWiresTest, ALostRankEndsBothSides) {
  FakeWires wires(3);
  wires.LoseAfter(1, 1);
  int first = 1;
  int second = 2;
  int got = 0;
  const auto sent = wires.of(0).Send(1, 0, BytesOf(std::as_const(first)));
  const auto received = wires.of(1).Receive(0, 0, BytesOf(got));
  EXPECT_TRUE(sent->Wait().ok());
  const auto late = wires.of(0).Send(1, 0, BytesOf(std::as_const(second)));
  const absl::Status lost = late->Wait();
  EXPECT_EQ(lost.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(lost.message()), HasSubstr("rank 1 is lost"));
  const auto of_others = wires.of(0).Send(2, 0, BytesOf(std::as_const(second)));
  const auto by_others = wires.of(2).Receive(0, 0, BytesOf(got));
  EXPECT_TRUE(by_others->Wait().ok());
}

TEST(FakeWiresTest, AbortWakesAWaitingReceiver) {
  FakeWires wires(2);
  int got = 0;
  const auto receiving = wires.of(1).Receive(0, 0, BytesOf(got));
  std::jthread aborter([&] { wires.of(1).Abort(absl::CancelledError("the end")); });
  EXPECT_EQ(receiving->Wait(), absl::CancelledError("the end"));
  EXPECT_EQ(wires.of(1).Receive(0, 1, BytesOf(got))->Wait(), absl::CancelledError("the end"));
}

}  // namespace
}  // namespace millrace::pipeline
