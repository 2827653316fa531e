#include "service/rpc/parse.h"

#include <string>

#include <gtest/gtest.h>

#include "millrace/v1/stream_service.pb.h"

namespace millrace::service {
namespace {

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
