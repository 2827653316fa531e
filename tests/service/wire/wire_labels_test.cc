#include "service/wire/wire_labels.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/truncate.h"

namespace millrace::service {
namespace {

using ::testing::StartsWith;

TEST(WireLabelsTest, ALabelIsANumberANameOrValues) {
  v1::FrameLabel message;
  message.set_class_number(0);
  EXPECT_EQ(ToLabel(message), ClientLabel(std::int64_t{0}));
  message.set_class_name("three");
  EXPECT_EQ(ToLabel(message), ClientLabel(std::string("three")));
  message.mutable_values()->add_values(0.5F);
  EXPECT_EQ(ToLabel(message), ClientLabel(std::vector<float>{0.5F}));
  EXPECT_EQ(ToLabel(v1::FrameLabel()), ClientLabel(std::vector<float>()));
}

TEST(WireLabelsTest, EachOutcomeOfALabelHasItsResult) {
  const std::vector<std::pair<absl::Status, v1::LabelResult>> outcomes = {
      {absl::OkStatus(), v1::LABEL_RESULT_ADDED},
      {absl::OutOfRangeError("late"), v1::LABEL_RESULT_TOO_LATE},
      {absl::NotFoundError("no frame"), v1::LABEL_RESULT_UNKNOWN_FRAME},
      {absl::AlreadyExistsError("again"), v1::LABEL_RESULT_ALREADY_LABELLED},
      {absl::InvalidArgumentError("no class"), v1::LABEL_RESULT_INVALID},
      {absl::InternalError("broken"), v1::LABEL_RESULT_UNSPECIFIED}};
  for (const auto& [status, result] : outcomes) {
    v1::LabelOutcome message;
    ToMessage(status, message);
    EXPECT_EQ(message.result(), result) << status;
    EXPECT_EQ(message.message(), std::string(status.message()));
  }
}

TEST(WireLabelsTest, AMessageThatRepeatsALongTextIsShortened) {
  v1::LabelOutcome message;
  ToMessage(absl::InvalidArgumentError("no class '" + std::string(1'000'000, 'x')), message);
  EXPECT_LE(HeaderBytes(message.message()), 300u);
  EXPECT_THAT(message.message(), StartsWith("no class 'xxx"));
}

}  // namespace
}  // namespace millrace::service
