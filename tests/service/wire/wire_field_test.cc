#include "service/wire/wire_field.h"

#include <string>

#include <gtest/gtest.h>

#include "millrace/v1/prediction_service.pb.h"

namespace millrace::service {
namespace {

std::string Text(const grpc::Slice& slice) {
  return {reinterpret_cast<const char*>(slice.begin()), slice.size()};
}

// Lengths of one, two and four bytes.
TEST(WireFieldTest, AHeadAndTheBytesOfItsFieldAreAMessage) {
  for (const std::size_t length : {std::size_t{0}, std::size_t{1}, std::size_t{127},
                                   std::size_t{128}, std::size_t{3'000'000}}) {
    v1::GetLatestRequest original;
    original.set_stream(std::string(length, 'x'));
    const std::string bytes =
        Text(FieldHead(v1::GetLatestRequest::kStreamFieldNumber, length)) + original.stream();
    v1::GetLatestRequest parsed;
    ASSERT_TRUE(parsed.ParseFromString(bytes)) << length;
    EXPECT_EQ(parsed.stream(), original.stream());
  }
}

TEST(WireFieldTest, FieldsOneAfterTheOtherAreOneMessage) {
  v1::Parts parts;
  parts.set_flow(true);
  const std::string inner = parts.SerializeAsString();
  const std::string bytes = Text(FieldHead(v1::GetLatestRequest::kPartsFieldNumber, inner.size())) +
                            inner + Text(FieldHead(v1::GetLatestRequest::kStreamFieldNumber, 4)) +
                            "gate";
  v1::GetLatestRequest parsed;
  ASSERT_TRUE(parsed.ParseFromString(bytes));
  EXPECT_EQ(parsed.stream(), "gate");
  EXPECT_TRUE(parsed.parts().flow());
}

}  // namespace
}  // namespace millrace::service
