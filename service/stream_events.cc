#include "service/stream_events.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"

namespace millrace::service {
namespace {

// A camera that flaps makes four a second: a watcher may sleep for a minute.
constexpr std::size_t kKept = 256;

}  // namespace

void StreamEvents::Happened(const std::string& stream, StreamEvent::Kind kind) {
  {
    const MutexLock lock(mu_);
    State& now = states_[stream];
    if (kind == StreamEvent::Kind::kCreated) now.created = true;
    Append(stream, kind, now);
    if (kind == StreamEvent::Kind::kDeleted) states_.erase(stream);
  }
  Tell();
}

void StreamEvents::SourceIs(const std::string& stream, ingest::SourceState state,
                            const absl::Status& cause) {
  {
    const MutexLock lock(mu_);
    State& now = states_[stream];
    now.source = state;
    now.source_cause = std::string(cause.message());
    Append(stream, StreamEvent::Kind::kSourceState, now);
  }
  Tell();
}

void StreamEvents::LearnerIs(const std::string& stream, LearnerState state,
                             const absl::Status& cause) {
  {
    const MutexLock lock(mu_);
    State& now = states_[stream];
    if (now.learner == state) return;
    now.learner = state;
    now.learner_cause = std::string(cause.message());
    Append(stream, StreamEvent::Kind::kLearnerState, now);
  }
  Tell();
}

void StreamEvents::Forget(const std::string& stream) {
  const MutexLock lock(mu_);
  states_.erase(stream);
}

void StreamEvents::Append(const std::string& stream, StreamEvent::Kind kind, const State& state) {
  if (!state.created) return;
  const bool of_learner = kind == StreamEvent::Kind::kLearnerState;
  events_.push_back({.stream = stream,
                     .kind = kind,
                     .time = WallTime(),
                     .source = state.source,
                     .learner = state.learner,
                     .cause = of_learner ? state.learner_cause : state.source_cause});
  ++appended_;
  if (events_.size() > kKept) events_.pop_front();
}

StreamEvents::Cursor StreamEvents::Begin(std::deque<StreamEvent>& now) const {
  const MutexLock lock(mu_);
  for (const auto& [stream, state] : states_) {
    if (!state.created) continue;
    now.push_back(
        {.stream = stream,
         .kind = StreamEvent::Kind::kExists,
         .time = WallTime(),
         .source = state.source,
         .learner = state.learner,
         .cause = state.learner_cause.empty() ? state.source_cause : state.learner_cause});
  }
  return appended_;
}

StreamEvents::Read StreamEvents::Next(Cursor& cursor, const std::string& stream) const {
  const MutexLock lock(mu_);
  const std::uint64_t oldest = appended_ - events_.size();
  Read read{.event = std::nullopt, .missed = oldest - std::min(cursor, oldest)};
  cursor = std::max(cursor, oldest);
  while (cursor < appended_ && !read.event) {
    const StreamEvent& event = events_[cursor++ - oldest];
    if (stream.empty() || event.stream == stream) read.event = event;
  }
  return read;
}

void StreamEvents::Listen(std::function<void()> listener) {
  const MutexLock lock(listening_mu_);
  listener_ = std::move(listener);
}

void StreamEvents::Tell() {
  const MutexLock lock(listening_mu_);
  if (listener_) listener_();
}

}  // namespace millrace::service
