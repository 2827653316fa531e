#include "service/metrics/metrics_states.h"

#include <array>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace millrace::service {
namespace {

constexpr std::array kLearnerStates = {
    LearnerState::kLearning,        LearnerState::kFrozen, LearnerState::kPaused,
    LearnerState::kGivenUp,         LearnerState::kFailed, LearnerState::kEnded,
    LearnerState::kWaitingForRanks,
};

/// Every state with its number: "1 connecting, 2 streaming".
template <typename States>
std::string Codes(const States& states) {
  std::map<int, std::string> names;
  for (const auto state : states) {
    names[CodeOf(state)] = absl::StrReplaceAll(std::string(Name(state)), {{" ", "_"}});
  }
  return absl::StrJoin(names, ", ", absl::PairFormatter(" "));
}

}  // namespace

int CodeOf(ingest::SourceState state) {
  switch (state) {
    case ingest::SourceState::kConnecting:
      return 1;
    case ingest::SourceState::kStreaming:
      return 2;
    case ingest::SourceState::kBackingOff:
      return 3;
    case ingest::SourceState::kEnded:
      return 4;
    case ingest::SourceState::kFailed:
      return 5;
    case ingest::SourceState::kStopped:
      return 6;
    case ingest::SourceState::kStalled:
      return 7;
    case ingest::SourceState::kWaiting:
      return 8;
  }
  return 0;
}

int CodeOf(LearnerState state) {
  switch (state) {
    case LearnerState::kLearning:
      return 1;
    case LearnerState::kFailed:
      return 2;
    case LearnerState::kEnded:
      return 3;
    case LearnerState::kFrozen:
      return 4;
    case LearnerState::kPaused:
      return 5;
    case LearnerState::kGivenUp:
      return 6;
    case LearnerState::kWaitingForRanks:
      return 7;
  }
  return 0;
}

int CodeOf(OverloadKind kind) { return 1 + static_cast<int>(kind); }

std::string SourceCodes() { return Codes(ingest::kSourceStates); }

std::string LearnerCodes() { return Codes(kLearnerStates); }

std::string OverloadCodes() { return Codes(kOverloadKinds); }

}  // namespace millrace::service
