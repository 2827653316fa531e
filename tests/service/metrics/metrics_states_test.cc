// Metrics and API give a state the same number.
#include "service/metrics/metrics_states.h"

#include <gtest/gtest.h>

#include "service/wire/wire_states.h"

namespace millrace::service {
namespace {

TEST(StateCodesTest, AreThoseOfTheApi) {
  for (const ingest::SourceState state : ingest::kSourceStates) {
    EXPECT_EQ(CodeOf(state), ToWire(state));
  }
  for (const LearnerState state :
       {LearnerState::kLearning, LearnerState::kFrozen, LearnerState::kPaused,
        LearnerState::kGivenUp, LearnerState::kFailed, LearnerState::kEnded}) {
    EXPECT_EQ(CodeOf(state), ToWire(state));
  }
  for (const OverloadKind kind : kOverloadKinds) EXPECT_EQ(CodeOf(kind), ToWire(kind));
}

}  // namespace
}  // namespace millrace::service
