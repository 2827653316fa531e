#include "service/stream/active_source_state.h"

#include <utility>

namespace millrace::service {

ActiveSourceState::Number ActiveSourceState::Add() {
  const MutexLock lock(mu_);
  const Number source = added_++;
  if (source != active_) waiting_[source] = {};
  return source;
}

ActiveSourceState::OnState ActiveSourceState::ReporterOf(Number source) {
  return [this, source](ingest::SourceState state, const absl::Status& cause) {
    Report(source, state, cause);
  };
}

void ActiveSourceState::Report(Number source, ingest::SourceState state,
                               const absl::Status& cause) {
  const MutexLock lock(mu_);
  if (source == active_) {
    if (on_state_) on_state_(state, cause);
  } else if (const auto found = waiting_.find(source); found != waiting_.end()) {
    found->second = {.state = state, .cause = cause};
  }
}

void ActiveSourceState::Activate(Number source) {
  const MutexLock lock(mu_);
  const auto found = waiting_.find(source);
  if (found == waiting_.end()) return;
  const State now = std::move(found->second);
  waiting_.erase(found);
  active_ = source;
  if (on_state_) on_state_(now.state, now.cause);
}

void ActiveSourceState::Forget(Number source) {
  const MutexLock lock(mu_);
  waiting_.erase(source);
}

}  // namespace millrace::service
