#include "service/stream/active_source_state.h"

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

class ActiveSourceStateTest : public ::testing::Test {
 protected:
  void Report(ActiveSourceState::Number source, SourceState state, const absl::Status& cause = {}) {
    states_.ReporterOf(source)(state, cause);
  }

  std::vector<std::pair<SourceState, std::string>> reported_;
  ActiveSourceState states_{[this](SourceState state, const absl::Status& cause) {
    reported_.emplace_back(state, std::string(cause.message()));
  }};
  const ActiveSourceState::Number first_ = states_.Add();
  const ActiveSourceState::Number second_ = states_.Add();
};

TEST_F(ActiveSourceStateTest, TheFirstSourceIsReportedFromTheBeginning) {
  Report(first_, SourceState::kConnecting);
  Report(first_, SourceState::kBackingOff, absl::UnavailableError("refused"));
  EXPECT_THAT(reported_, ElementsAre(Pair(SourceState::kConnecting, ""),
                                     Pair(SourceState::kBackingOff, "refused")));
}

TEST_F(ActiveSourceStateTest, AnActivatedSourceIsReportedFromThenOnAndTheLastOneNoMore) {
  Report(second_, SourceState::kConnecting);
  Report(second_, SourceState::kBackingOff, absl::UnavailableError("refused"));
  Report(first_, SourceState::kStopped);
  states_.Activate(second_);
  Report(first_, SourceState::kStopped);
  Report(second_, SourceState::kStreaming);
  EXPECT_THAT(reported_, ElementsAre(Pair(SourceState::kStopped, ""),
                                     Pair(SourceState::kBackingOff, "refused"),
                                     Pair(SourceState::kStreaming, "")));
}

TEST_F(ActiveSourceStateTest, NothingIsReportedOfASourceThatIsNeverActivated) {
  Report(second_, SourceState::kFailed, absl::NotFoundError("no such file"));
  states_.Forget(second_);
  Report(second_, SourceState::kStopped);
  states_.Activate(second_);
  EXPECT_THAT(reported_, IsEmpty());
  Report(first_, SourceState::kStreaming);
  EXPECT_THAT(reported_, ElementsAre(Pair(SourceState::kStreaming, "")));
}

TEST_F(ActiveSourceStateTest, AnObserverIsOptional) {
  ActiveSourceState states(nullptr);
  states.ReporterOf(states.Add())(SourceState::kStreaming, {});
  const ActiveSourceState::Number next = states.Add();
  states.Activate(next);
}

}  // namespace
}  // namespace millrace::service
