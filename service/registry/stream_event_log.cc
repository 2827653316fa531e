#include "service/registry/stream_event_log.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "service/overload/overload_text.h"

namespace millrace::service {
namespace {

// A flapping camera causes four events per second, so a watcher may pause for a minute.
constexpr std::size_t kKept = 256;

}  // namespace

StreamEventLog::Incarnation StreamEventLog::Begin(const std::string& stream) {
  const MutexLock lock(mu_);
  incarnations_[++begun_].stream = stream;
  return begun_;
}

void StreamEventLog::Happened(Incarnation incarnation, StreamEvent::Kind kind) {
  {
    const MutexLock lock(mu_);
    const auto found = incarnations_.find(incarnation);
    if (found == incarnations_.end()) return;
    if (kind != StreamEvent::Kind::kDeleted) Show(incarnation);
    Append(kind, found->second);
    if (kind == StreamEvent::Kind::kDeleted) incarnations_.erase(found);
  }
  Notify();
}

void StreamEventLog::Show(Incarnation incarnation) {
  State& now = incarnations_[incarnation];
  std::erase_if(incarnations_, [&](const auto& other) {
    return other.first != incarnation && other.second.shown && other.second.stream == now.stream;
  });
  now.shown = true;
}

void StreamEventLog::SourceIs(Incarnation incarnation, ingest::SourceState state,
                              const absl::Status& cause) {
  {
    const MutexLock lock(mu_);
    const auto found = incarnations_.find(incarnation);
    if (found == incarnations_.end()) return;
    State& now = found->second;
    now.source = state;
    now.source_cause = std::string(cause.message());
    Append(StreamEvent::Kind::kSourceState, now);
  }
  Notify();
}

void StreamEventLog::LearnerIs(Incarnation incarnation, LearnerState state,
                               const absl::Status& cause) {
  {
    const MutexLock lock(mu_);
    const auto found = incarnations_.find(incarnation);
    if (found == incarnations_.end() || found->second.learner == state) return;
    State& now = found->second;
    now.learner = state;
    now.learner_cause = std::string(cause.message());
    Append(StreamEvent::Kind::kLearnerState, now);
  }
  Notify();
}

void StreamEventLog::OverloadIs(Incarnation incarnation, const Overload& overload) {
  {
    const MutexLock lock(mu_);
    const auto found = incarnations_.find(incarnation);
    if (found == incarnations_.end()) return;
    found->second.overload = overload;
    Append(StreamEvent::Kind::kOverload, found->second);
  }
  Notify();
}

void StreamEventLog::Forget(Incarnation incarnation) {
  const MutexLock lock(mu_);
  incarnations_.erase(incarnation);
}

void StreamEventLog::Close() {
  {
    const MutexLock lock(mu_);
    closed_ = true;
  }
  Notify();
}

void StreamEventLog::Append(StreamEvent::Kind kind, const State& state) {
  if (!state.shown || closed_) return;
  events_.push_back(EventOf(kind, state));
  ++appended_;
  if (events_.size() > kKept) events_.pop_front();
}

StreamEvent StreamEventLog::EventOf(StreamEvent::Kind kind, const State& state) {
  StreamEvent event{.stream = state.stream,
                    .kind = kind,
                    .time = WallTime(),
                    .source = state.source,
                    .learner = state.learner,
                    .cause = state.source_cause,
                    .overload = state.overload.kind,
                    .overload_cause = DescribeOverload(state.overload),
                    .overload_remedy = DescribeRemedies(state.overload)};
  if (kind == StreamEvent::Kind::kLearnerState) event.cause = state.learner_cause;
  if (kind == StreamEvent::Kind::kOverload) event.cause = event.overload_cause;
  if (kind == StreamEvent::Kind::kExists && !state.learner_cause.empty()) {
    event.cause = state.learner_cause;
  }
  return event;
}

StreamEventLog::Cursor StreamEventLog::Watch(const std::string& stream,
                                             std::deque<StreamEvent>& now) const {
  const MutexLock lock(mu_);
  for (const auto& [incarnation, state] : incarnations_) {
    if (!state.shown || (!stream.empty() && state.stream != stream)) continue;
    now.push_back(EventOf(StreamEvent::Kind::kExists, state));
  }
  return appended_;
}

StreamEventLog::Read StreamEventLog::Next(Cursor& cursor, const std::string& stream) const {
  const MutexLock lock(mu_);
  const std::uint64_t oldest = appended_ - events_.size();
  Read read{.event = std::nullopt, .missed = oldest - std::min(cursor, oldest)};
  cursor = std::max(cursor, oldest);
  while (cursor < appended_ && !read.event) {
    const StreamEvent& event = events_[cursor++ - oldest];
    if (stream.empty() || event.stream == stream) read.event = event;
  }
  if (read.event) return read;
  read.gone = read.missed > 0 && !stream.empty() && !IsShown(stream);
  read.over = closed_;
  return read;
}

bool StreamEventLog::IsShown(const std::string& stream) const {
  return std::any_of(incarnations_.begin(), incarnations_.end(), [&](const auto& incarnation) {
    return incarnation.second.shown && incarnation.second.stream == stream;
  });
}

void StreamEventLog::Listen(std::function<void()> listener) {
  const MutexLock lock(listening_mu_);
  listener_ = std::move(listener);
}

void StreamEventLog::Notify() {
  const MutexLock lock(listening_mu_);
  if (listener_) listener_();
}

}  // namespace millrace::service
