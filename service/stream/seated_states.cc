#include "service/stream/seated_states.h"

#include <utility>

namespace millrace::service {

SeatedStates::Number SeatedStates::Add() {
  const MutexLock lock(mu_);
  const Number source = added_++;
  if (source != seated_) waiting_[source] = {};
  return source;
}

SeatedStates::Tell SeatedStates::Of(Number source) {
  return [this, source](ingest::SourceState state, const absl::Status& cause) {
    Is(source, state, cause);
  };
}

void SeatedStates::Is(Number source, ingest::SourceState state, const absl::Status& cause) {
  const MutexLock lock(mu_);
  if (source == seated_) {
    if (tell_) tell_(state, cause);
  } else if (const auto found = waiting_.find(source); found != waiting_.end()) {
    found->second = {.state = state, .cause = cause};
  }
}

void SeatedStates::Seat(Number source) {
  const MutexLock lock(mu_);
  const auto found = waiting_.find(source);
  if (found == waiting_.end()) return;
  const State now = std::move(found->second);
  waiting_.erase(found);
  seated_ = source;
  if (tell_) tell_(now.state, now.cause);
}

void SeatedStates::Forget(Number source) {
  const MutexLock lock(mu_);
  waiting_.erase(source);
}

}  // namespace millrace::service
