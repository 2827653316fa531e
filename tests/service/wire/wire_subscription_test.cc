#include "service/wire/wire_subscription.h"

#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/error_reason.h"
#include "millrace/v1/prediction_service.pb.h"
#include "tests/service/support/fake_stream.h"

namespace millrace::service {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A stream whose pictures have that size.
class WireSubscriptionTest : public ::testing::Test {
 protected:
  void Serve(int width, int height) {
    served_.reset();  // It uses the clock of `fake_`.
    FakeStreamOptions options;
    options.learner.width = width;
    options.learner.height = height;
    fake_ = StartFakeStream(options);
    auto record = std::make_shared<StreamRecord>(MonotonicClock(), std::chrono::nanoseconds(0));
    served_ = std::make_unique<ServedStream>(std::move(record), std::move(fake_.stream));
  }

  [[nodiscard]] std::vector<std::string> WrongFields() const {
    std::vector<std::string> fields;
    for (const FieldViolation& wrong : FieldViolationsOf(ToOptions(request_, *served_).status())) {
      fields.push_back(wrong.field);
    }
    return fields;
  }

  v1::SubscribeRequest request_;
  FakeStream fake_;
  std::unique_ptr<ServedStream> served_;
};

TEST_F(WireSubscriptionTest, ARequestThatSaysNothingHasTheUsualOptions) {
  Serve(4, 2);
  const auto options = ToOptions(request_, *served_);
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->policy.depth, 16u);
  EXPECT_FALSE(options->policy.newest);
  EXPECT_FALSE(options->lossless);
  EXPECT_FALSE(options->begin.has_value());
  EXPECT_EQ(options->parts.AsBits(), PredictionParts().AsBits());
}

TEST_F(WireSubscriptionTest, APolicyIsLatestOrLosslessOrDropsTheOldest) {
  Serve(4, 2);
  request_.set_policy(v1::DELIVERY_POLICY_LATEST);
  EXPECT_TRUE(ToOptions(request_, *served_)->policy.newest);
  request_.set_policy(v1::DELIVERY_POLICY_LOSSLESS);
  EXPECT_TRUE(ToOptions(request_, *served_)->lossless);
  EXPECT_FALSE(ToOptions(request_, *served_)->policy.newest);
}

TEST_F(WireSubscriptionTest, AllWrongFieldsAreNamedAtOnce) {
  Serve(4, 2);
  request_.set_policy(static_cast<v1::DeliveryPolicy>(9));
  request_.set_depth(-1);
  EXPECT_THAT(WrongFields(), ElementsAre("policy", "depth"));
}

TEST_F(WireSubscriptionTest, TheDepthIsLimitedByWhatItKeepsInMemory) {
  Serve(4, 2);
  request_.set_depth(256);
  EXPECT_TRUE(ToOptions(request_, *served_).ok());
  request_.set_depth(257);
  EXPECT_THAT(WrongFields(), ElementsAre("depth"));

  Serve(1'000, 1'000);
  constexpr std::int64_t kBytes = 1'000'000 * (2 * sizeof(float) + 3);  // A flow and a picture.
  request_.set_depth(kMaxHeldBytes / kBytes);
  EXPECT_TRUE(ToOptions(request_, *served_).ok());
  request_.set_depth(kMaxHeldBytes / kBytes + 1);
  EXPECT_THAT(std::string(ToOptions(request_, *served_).status().message()),
              HasSubstr("with pictures of this size"));
}

TEST_F(WireSubscriptionTest, ASubscriptionResumesOnlyItsOwnRun) {
  Serve(4, 2);
  v1::ResumePoint& resume = *request_.mutable_resume();
  resume.set_run_id(served_->run_id);
  EXPECT_EQ(ToOptions(request_, *served_)->begin, PredictionRing::Cursor{0});
  resume.set_sequence(1);
  EXPECT_TRUE(absl::IsOutOfRange(ToOptions(request_, *served_).status())) << "of the future";
  resume.set_sequence(0);
  resume.set_run_id("another");
  EXPECT_TRUE(absl::IsOutOfRange(ToOptions(request_, *served_).status()));
}

TEST(PredictionPartsTest, EachSelectionHasANumberOfItsOwn) {
  std::set<int> seen;
  for (int bits = 0; bits < 32; ++bits) {
    v1::SubscribeRequest request;
    request.mutable_parts()->set_flow((bits & 1) != 0);
    request.mutable_parts()->set_next_picture((bits & 2) != 0);
    request.mutable_parts()->set_outputs((bits & 4) != 0);
    request.mutable_parts()->set_preview((bits & 8) != 0);
    request.mutable_parts()->set_uncertainty((bits & 16) != 0);
    seen.insert(PartsOf(request).AsBits());
  }
  EXPECT_EQ(seen.size(), 32u);
}

}  // namespace
}  // namespace millrace::service
