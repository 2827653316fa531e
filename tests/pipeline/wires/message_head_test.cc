#include "pipeline/wires/message_head.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::pipeline {
namespace {

using ::testing::HasSubstr;

MessageHead HeadOf(std::mt19937& random) {
  const auto up_to = [&](int max) { return static_cast<int>(random() % (max + 1)); };
  MessageHead head{.epoch = up_to(9),
                   .sample = up_to(1'000'000),
                   .kind = static_cast<MessageKind>(up_to(3)),
                   .rate_scale = up_to(1000) / 7.0};
  const int tensors = up_to(6);
  for (int i = 0; i < tensors; ++i) {
    TensorForm form{.type = up_to(40) - 1};
    const int dimensions = up_to(5);
    for (int d = 0; d < dimensions; ++d) {
      form.sizes.push_back(up_to(300));
      form.strides.push_back(up_to(2000));
    }
    head.tensors.push_back(form);
  }
  return head;
}

TEST(MessageHeadTest, EveryHeadComesBack) {
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    const MessageHead head = HeadOf(random);
    const auto encoded = Encode(head);
    ASSERT_TRUE(encoded.ok()) << encoded.status();
    const auto decoded = DecodeHead(*encoded);
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    EXPECT_EQ(*decoded, head);
  }
}

// Whatever comes, the announced tensors have an extent that fits into memory's numbers.
TEST(MessageHeadTest, ChangedNumbersAreRefusedOrDescribeTensors) {
  std::mt19937_64 random(2);
  std::mt19937 heads(3);
  int refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    EncodedHead encoded = *Encode(HeadOf(heads));
    std::int64_t& changed = encoded[random() % 40];
    changed = random() % 2 == 0 ? static_cast<std::int64_t>(random())
                                : changed + static_cast<std::int64_t>(random() % 5) - 2;
    const auto decoded = DecodeHead(encoded);
    if (!decoded.ok()) {
      ++refused;
      EXPECT_EQ(decoded.status().code(), absl::StatusCode::kDataLoss);
      continue;
    }
    for (const TensorForm& form : decoded->tensors) {
      EXPECT_GE(form.Extent(), 0);
      EXPECT_LE(form.Extent(), std::int64_t{1} << 34);
    }
  }
  EXPECT_GT(refused, 2000);
}

TEST(MessageHeadTest, AnotherProgramIsNamed) {
  EncodedHead encoded = *Encode({.sample = 3});
  ++encoded[0];
  EXPECT_THAT(std::string(DecodeHead(encoded).status().message()),
              HasSubstr("of another program, or of another version"));
}

TEST(MessageHeadTest, AHugeTensorIsRefused) {
  const MessageHead head{
      .tensors = {{.type = 6, .sizes = {1 << 20, 1 << 20}, .strides = {1 << 20, 1}}}};
  EXPECT_THAT(std::string(DecodeHead(*Encode(head)).status().message()),
              HasSubstr("a tensor is too large"));
}

TEST(MessageHeadTest, AHeadHasRoomFor56TensorsOfFourDimensions) {
  const TensorForm form{.type = 6, .sizes = {1, 2, 3, 4}, .strides = {24, 12, 4, 1}};
  MessageHead head{.tensors = std::vector<TensorForm>(50, form)};
  EXPECT_EQ(*DecodeHead(*Encode(head)), head);
  head.tensors.resize(60, form);
  EXPECT_THAT(std::string(Encode(head).status().message()),
              HasSubstr("60 tensors between two stages are too many"));
}

TEST(TensorFormTest, TheExtentCountsGapsAndNotRepeats) {
  EXPECT_EQ((TensorForm{.sizes = {2, 3}, .strides = {3, 1}}.Extent()), 6);
  EXPECT_EQ((TensorForm{.sizes = {2, 3}, .strides = {10, 2}}.Extent()), 15);
  EXPECT_EQ((TensorForm{.sizes = {4, 3}, .strides = {0, 1}}.Extent()), 3);
  EXPECT_EQ((TensorForm{.sizes = {2, 0}, .strides = {3, 1}}.Extent()), 0);
  EXPECT_EQ(TensorForm{}.Extent(), 1);
}

}  // namespace
}  // namespace millrace::pipeline
