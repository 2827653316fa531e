#include "service/wire/wire_states.h"

namespace millrace::service {

v1::SourceState ToWire(ingest::SourceState state) {
  switch (state) {
    case ingest::SourceState::kConnecting:
      return v1::SOURCE_STATE_CONNECTING;
    case ingest::SourceState::kWaiting:
      return v1::SOURCE_STATE_WAITING;
    case ingest::SourceState::kStreaming:
      return v1::SOURCE_STATE_STREAMING;
    case ingest::SourceState::kStalled:
      return v1::SOURCE_STATE_STALLED;
    case ingest::SourceState::kBackingOff:
      return v1::SOURCE_STATE_BACKING_OFF;
    case ingest::SourceState::kEnded:
      return v1::SOURCE_STATE_ENDED;
    case ingest::SourceState::kFailed:
      return v1::SOURCE_STATE_FAILED;
    case ingest::SourceState::kStopped:
      return v1::SOURCE_STATE_STOPPED;
  }
  return v1::SOURCE_STATE_UNSPECIFIED;
}

v1::LearnerState ToWire(LearnerState state) {
  switch (state) {
    case LearnerState::kLearning:
      return v1::LEARNER_STATE_LEARNING;
    case LearnerState::kFrozen:
      return v1::LEARNER_STATE_FROZEN;
    case LearnerState::kPaused:
      return v1::LEARNER_STATE_PAUSED;
    case LearnerState::kGivenUp:
      return v1::LEARNER_STATE_GIVEN_UP;
    case LearnerState::kWaitingForRanks:
      return v1::LEARNER_STATE_WAITING_FOR_RANKS;
    case LearnerState::kFailed:
      return v1::LEARNER_STATE_FAILED;
    case LearnerState::kEnded:
      return v1::LEARNER_STATE_ENDED;
  }
  return v1::LEARNER_STATE_UNSPECIFIED;
}

v1::OverloadKind ToWire(OverloadKind kind) {
  switch (kind) {
    case OverloadKind::kNone:
      return v1::OVERLOAD_KIND_NONE;
    case OverloadKind::kLearnsLess:
      return v1::OVERLOAD_KIND_LEARNS_LESS;
    case OverloadKind::kOnlyPredicts:
      return v1::OVERLOAD_KIND_ONLY_PREDICTS;
    case OverloadKind::kDrops:
      return v1::OVERLOAD_KIND_DROPS;
  }
  return v1::OVERLOAD_KIND_UNSPECIFIED;
}

v1::DropReason ToWire(DropReason reason) {
  switch (reason) {
    case DropReason::kQueueFull:
      return v1::DROP_REASON_QUEUE_FULL;
    case DropReason::kNoPredecessor:
      return v1::DROP_REASON_NO_PREDECESSOR;
    case DropReason::kGap:
      return v1::DROP_REASON_GAP;
    case DropReason::kRejected:
      return v1::DROP_REASON_REJECTED;
    case DropReason::kShutdown:
      return v1::DROP_REASON_SHUTDOWN;
    case DropReason::kPaused:
      return v1::DROP_REASON_PAUSED;
    case DropReason::kRanksLost:
      return v1::DROP_REASON_RANKS_LOST;
  }
  return v1::DROP_REASON_UNSPECIFIED;
}

}  // namespace millrace::service
