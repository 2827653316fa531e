#include "service/wire/wire_learner.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::service {
namespace {

using pipeline::UpdatePolicyOptions;
using ::testing::HasSubstr;

v1::UpdatePolicy Policy(int kind) {
  v1::UpdatePolicy message;
  message.set_kind(static_cast<v1::UpdatePolicyKind>(kind));
  return message;
}

TEST(WireLearnerTest, AbsentFieldsOfAPolicyHaveTheirDefaults) {
  const auto policy = PolicyOf(Policy(v1::UPDATE_POLICY_KIND_MAG));
  ASSERT_TRUE(policy.ok()) << policy.status();
  const UpdatePolicyOptions defaults;
  EXPECT_EQ(policy->kind, UpdatePolicyOptions::Kind::kMag);
  EXPECT_EQ(policy->every, defaults.every);
  EXPECT_EQ(policy->moving_share, defaults.moving_share);
  EXPECT_EQ(policy->moving_pixels, defaults.moving_pixels);
  EXPECT_EQ(policy->difference, defaults.difference);
  EXPECT_EQ(policy->divergence, defaults.divergence);
}

TEST(WireLearnerTest, FieldsThatArePresentAreRead) {
  v1::UpdatePolicy message = Policy(v1::UPDATE_POLICY_KIND_DIV);
  message.set_every(3);
  message.set_moving_share(0);  // Present, though it is the default of its type.
  message.set_divergence(0.5);
  message.set_warm_up(100);
  message.set_force_after(7);
  const auto policy = PolicyOf(message);
  ASSERT_TRUE(policy.ok()) << policy.status();
  EXPECT_EQ(policy->kind, UpdatePolicyOptions::Kind::kDiv);
  EXPECT_EQ(policy->every, 3);
  EXPECT_EQ(policy->moving_share, 0);
  EXPECT_EQ(policy->divergence, 0.5);
  EXPECT_EQ(policy->warm_up, 100);
  EXPECT_EQ(policy->force_after, 7);
}

TEST(WireLearnerTest, AKindThatIsMissingOrUnknownIsRefusedWithTheKindsThereAre) {
  for (const int kind : {0, 77}) {
    const absl::Status status = PolicyOf(Policy(kind)).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << kind;
    EXPECT_THAT(std::string(status.message()), HasSubstr("EVERY, MAG, DIFF or DIV"));
  }
}

TEST(WireLearnerTest, AValueOutOfRangeIsRefusedEvenOfAnotherKind) {
  v1::UpdatePolicy message = Policy(v1::UPDATE_POLICY_KIND_DIFF);
  message.set_every(0);
  const absl::Status status = PolicyOf(message).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("every"));
}

}  // namespace
}  // namespace millrace::service
