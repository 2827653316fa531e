#include "pipeline/wires/byte_message.h"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/pipeline/support/fake_wires.h"

namespace millrace::pipeline {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<std::string> Pass(const std::string& bytes, std::size_t max_bytes) {
  FakeWires wires(2);
  std::jthread sender([&] {
    const absl::Status sent = SendBytes(wires.of(0), 1, 4, bytes);
    EXPECT_EQ(sent.ok(), bytes.size() <= max_bytes) << sent;
  });
  auto got = ReceiveBytes(wires.of(1), 0, 4, max_bytes);
  if (!got.ok()) wires.of(1).Abort(got.status());
  return got;
}

TEST(ByteMessageTest, ArrivesWhole) {
  for (const std::size_t size : {0, 1, 4095, 100'000}) {
    const std::string bytes(size, 'x');
    const auto got = Pass(bytes, 100'000);
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(*got, bytes);
  }
}

TEST(ByteMessageTest, ALongerOneIsRefusedBeforeItTakesMemory) {
  const auto got = Pass(std::string(11, 'x'), 10);
  EXPECT_EQ(got.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(got.status().message()),
              HasSubstr("rank 0 announces a message of 11 bytes; at most 10"));
}

}  // namespace
}  // namespace millrace::pipeline
