#include "service/rpc/parse.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error_reason.h"
#include "millrace/v1/label_service.pb.h"
#include "millrace/v1/stream_service.pb.h"

namespace millrace::service {
namespace {

using ::testing::HasSubstr;

grpc::ByteBuffer Bytes(const std::string& text) {
  const grpc::Slice slice(text);
  return {&slice, 1};
}

TEST(CheckSizeTest, ARequestMayHaveItsLimitAndNoMore) {
  const grpc::ByteBuffer bytes = Bytes(std::string(100, 'x'));
  EXPECT_TRUE(CheckSize<v1::GetStreamRequest>(bytes, 100).ok());
  const absl::Status status = CheckSize<v1::GetStreamRequest>(bytes, 99);
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_EQ(std::string(status.message()), "this GetStreamRequest has 100 bytes; it may have 99");
}

TEST(ParseTest, BytesOfAnotherKindAreRefused) {
  const absl::Status status = Parse<v1::GetStreamRequest>(Bytes("\xff")).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_EQ(std::string(status.message()), "this is no GetStreamRequest");
}

TEST(ParseTest, TheBytesCanBeParsedAgain) {
  v1::GetStreamRequest request;
  request.set_stream("gate");
  const grpc::ByteBuffer bytes = Bytes(request.SerializeAsString());
  for (int i = 0; i < 2; ++i) EXPECT_EQ(Parse<v1::GetStreamRequest>(bytes)->stream(), "gate");
}

// Empty labels have two bytes each, and take many more in memory.
TEST(CheckMemoryTest, ARequestOfManySmallPartsIsRefusedWithItsList) {
  v1::AddLabelsRequest request;
  request.add_labels();
  EXPECT_TRUE(CheckMemory(request).ok());
  while (request.SpaceUsedLong() <= std::size_t{64} << 20) {
    for (int i = 0; i < 100'000; ++i) request.add_labels();  // The size is slow to compute.
  }
  EXPECT_LT(request.ByteSizeLong(), std::size_t{8} << 20);
  const absl::Status status = CheckMemory(request);
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  ASSERT_EQ(FieldViolationsOf(status).size(), 1u);
  EXPECT_EQ(FieldViolationsOf(status)[0].field, "labels");
  EXPECT_THAT(std::string(status.message()), HasSubstr("of at most 64"));
}

TEST(SerializeTest, WritesOverWhatWasThere) {
  grpc::ByteBuffer bytes;
  for (const char letter : {'a', 'b'}) {
    v1::GetStreamRequest request;
    request.set_stream(std::string(1'000, letter));  // Too long to stand in the buffer itself.
    ASSERT_TRUE(Serialize(request, bytes).ok());
    const auto parsed = Parse<v1::GetStreamRequest>(bytes);
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ(parsed->stream(), request.stream());
  }
}

}  // namespace
}  // namespace millrace::service
