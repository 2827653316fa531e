#include "service/stream/seated_states.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::service {
namespace {

using ingest::SourceState;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

class SeatedStatesTest : public ::testing::Test {
 protected:
  void Is(SeatedStates::Number source, SourceState state, const absl::Status& cause = {}) {
    states_.Of(source)(state, cause);
  }

  std::vector<std::pair<SourceState, std::string>> told_;
  SeatedStates states_{[this](SourceState state, const absl::Status& cause) {
    told_.emplace_back(state, std::string(cause.message()));
  }};
  const SeatedStates::Number first_ = states_.Add();
  const SeatedStates::Number second_ = states_.Add();
};

TEST_F(SeatedStatesTest, TheFirstSourceIsHeardFromTheBeginning) {
  Is(first_, SourceState::kConnecting);
  Is(first_, SourceState::kBackingOff, absl::UnavailableError("refused"));
  EXPECT_THAT(told_, ElementsAre(Pair(SourceState::kConnecting, ""),
                                 Pair(SourceState::kBackingOff, "refused")));
}

TEST_F(SeatedStatesTest, OneThatTakesTheSeatIsHeardFromThenOnAndTheLastOneNoMore) {
  Is(second_, SourceState::kConnecting);
  Is(second_, SourceState::kBackingOff, absl::UnavailableError("refused"));
  Is(first_, SourceState::kStopped);
  states_.Seat(second_);
  Is(first_, SourceState::kStopped);
  Is(second_, SourceState::kStreaming);
  EXPECT_THAT(
      told_, ElementsAre(Pair(SourceState::kStopped, ""), Pair(SourceState::kBackingOff, "refused"),
                         Pair(SourceState::kStreaming, "")));
}

TEST_F(SeatedStatesTest, OfOneThatDoesNotGetTheSeatNothingIsHeard) {
  Is(second_, SourceState::kFailed, absl::NotFoundError("no such file"));
  states_.Forget(second_);
  Is(second_, SourceState::kStopped);
  states_.Seat(second_);
  EXPECT_THAT(told_, IsEmpty());
  Is(first_, SourceState::kStreaming);
  EXPECT_THAT(told_, ElementsAre(Pair(SourceState::kStreaming, "")));
}

TEST_F(SeatedStatesTest, NobodyNeedListen) {
  SeatedStates states(nullptr);
  states.Of(states.Add())(SourceState::kStreaming, {});
  const SeatedStates::Number next = states.Add();
  states.Seat(next);
}

}  // namespace
}  // namespace millrace::service
