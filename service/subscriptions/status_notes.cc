#include "service/subscriptions/status_notes.h"

#include <deque>

#include "service/wire/wire_status.h"

namespace millrace::service {
namespace {

// Ignores the figures of an overload, which differ at every check.
bool HoldTheSame(const v1::StreamStatus& one, const v1::StreamStatus& other) {
  return one.source_state() == other.source_state() && one.source_cause() == other.source_cause() &&
         one.learner_state() == other.learner_state() &&
         one.learner_cause() == other.learner_cause() && one.overload() == other.overload();
}

StreamEventLog::Cursor Now(const StreamEventLog& events, const std::string& stream) {
  std::deque<StreamEvent> ignored;
  return events.Watch(stream, ignored);
}

}  // namespace

StatusNotes::StatusNotes(const ServedStream& served, const StreamEventLog& events,
                         const Clock& clock)
    : served_(served),
      events_(events),
      clock_(clock),
      name_(served.stream->config().name),
      cursor_(Now(events, name_)),
      last_sent_(clock.Now()) {}

std::optional<v1::StreamStatus> StatusNotes::Changed() {
  if (!SomethingHappened() && told_) return std::nullopt;
  v1::StreamStatus now = StatusOf(served_, served_.stream->ring().Newest().get());
  if (told_ && HoldTheSame(*told_, now)) return std::nullopt;
  return told_ = now;
}

std::optional<v1::StreamStatus> StatusNotes::AfterSilence() {
  if (clock_.Now() - last_sent_ < kMaxSilence) return std::nullopt;
  return told_ = StatusOf(served_, served_.stream->ring().Newest().get());
}

bool StatusNotes::SomethingHappened() {
  bool happened = false;
  for (;;) {
    const StreamEventLog::Read next = events_.Next(cursor_, name_);
    happened |= next.event.has_value() || next.missed > 0;
    if (!next.event) return happened;
  }
}

}  // namespace millrace::service
