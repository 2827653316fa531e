#include "service/api/stream_watch.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error_reason.h"
#include "service/registry/stream_registry.h"
#include "service/wire/wire_states.h"
#include "service/wire/wire_time.h"

namespace millrace::service {
namespace {

v1::StreamEventKind KindOf(StreamEvent::Kind kind) {
  switch (kind) {
    case StreamEvent::Kind::kExists:
      return v1::STREAM_EVENT_KIND_EXISTS;
    case StreamEvent::Kind::kCreated:
      return v1::STREAM_EVENT_KIND_CREATED;
    case StreamEvent::Kind::kUpdated:
      return v1::STREAM_EVENT_KIND_UPDATED;
    case StreamEvent::Kind::kDeleted:
      return v1::STREAM_EVENT_KIND_DELETED;
    case StreamEvent::Kind::kSourceState:
      return v1::STREAM_EVENT_KIND_SOURCE_STATE;
    case StreamEvent::Kind::kLearnerState:
      return v1::STREAM_EVENT_KIND_LEARNER_STATE;
    case StreamEvent::Kind::kOverload:
      return v1::STREAM_EVENT_KIND_OVERLOAD;
  }
  return v1::STREAM_EVENT_KIND_UNSPECIFIED;
}

void ToMessage(const StreamEvent& event, v1::StreamEvent& message) {
  message.set_stream(event.stream);
  SetTime(event.time, *message.mutable_time());
  message.set_kind(KindOf(event.kind));
  message.set_source_state(ToWire(event.source));
  message.set_learner_state(ToWire(event.learner));
  message.set_cause(event.cause);
  message.set_overload(ToWire(event.overload));
  message.set_overload_cause(event.overload_cause);
  message.set_overload_remedy(event.overload_remedy);
}

}  // namespace

absl::StatusOr<StreamWatch::Place> StreamWatch::PlaceIn(const StreamEventLog& events,
                                                        const std::string& stream) {
  Place place{.stream = stream};
  place.cursor = events.Watch(stream, place.now);
  if (!stream.empty() && place.now.empty()) {
    return WithReason("STREAM_NOT_FOUND", {{"stream", stream}},
                      absl::NotFoundError(absl::StrCat("there is no stream '", stream,
                                                       "'; ListStreams names those there are")));
  }
  return place;
}

StreamWatch::StreamWatch(const StreamEventLog& events, Place place, StreamingCalls& calls)
    : StreamWriter(calls),
      events_(events),
      stream_(std::move(place.stream)),
      at_first_(std::move(place.now)),
      cursor_(place.cursor) {}

StreamWatch::Step StreamWatch::Advance(v1::WatchStreamsResponse& message, absl::Status& end) {
  message.Clear();
  if (!at_first_.empty()) {
    ToMessage(at_first_.front(), *message.mutable_event());
    at_first_.pop_front();
    return Step::kMessage;
  }
  if (deleted_) return Step::kEnd;
  const StreamEventLog::Read next = events_.Next(cursor_, stream_);
  missed_ += next.missed;
  if (next.gone) return Step::kEnd;
  if (next.over) {
    end = ServerStops();
    return Step::kEnd;
  }
  if (!next.event) return Step::kNothing;
  deleted_ = !stream_.empty() && next.event->kind == StreamEvent::Kind::kDeleted;
  ToMessage(*next.event, *message.mutable_event());
  message.set_dropped(std::exchange(missed_, 0));
  return Step::kMessage;
}

absl::Status StreamWatch::Stalled(std::chrono::nanoseconds limit) {
  return SlowSubscriber("", "watcher", TookNothing(limit), "read on and watch again");
}

}  // namespace millrace::service
