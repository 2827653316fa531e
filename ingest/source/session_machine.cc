#include "ingest/source/session_machine.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace millrace::ingest {
namespace {

using std::chrono::nanoseconds;

// Rounded to a tenth, so that causes with a smaller difference are the same text.
double Seconds(nanoseconds time) {
  return std::round(std::chrono::duration<double>(time).count() * 10) / 10;
}

}  // namespace

SessionMachine::SessionMachine(const SessionLimits& limits, const Backoff& backoff)
    : limits_(limits),
      backoff_(backoff),
      rhythm_(limits.between_frames / 2, limits.between_frames) {}

SessionMachine::Decision SessionMachine::Decide(nanoseconds now) {
  if (!InSession()) {
    const nanoseconds begin_at = std::max(retry_at_, held_off_until_);
    return now >= begin_at ? Begin(now) : Decision{.step = Step::kWait, .until = begin_at};
  }
  Judge(now);
  if (!failure_.ok()) return End(now);
  const bool streams = state_ == SourceState::kStreaming;
  return {.step = Step::kWait, .until = streams ? last_frame_at_ + Patience() / 2 : FrameDueBy()};
}

// A slow camera stalls after two of its intervals, and fails after two more.
nanoseconds SessionMachine::Patience() const {
  return std::max(limits_.between_frames, 4 * rhythm_.Interval());
}

nanoseconds SessionMachine::FrameDueBy() const {
  return state_ == SourceState::kConnecting ? first_frame_due_by_ : last_frame_at_ + Patience();
}

// Checks the age of the session's last frame.
void SessionMachine::Judge(nanoseconds now) {
  if (state_ == SourceState::kStreaming && now >= last_frame_at_ + Patience() / 2) {
    Enter(SourceState::kStalled,
          absl::UnavailableError(absl::StrCat("no frame for ", Seconds(Patience() / 2), " s")));
  }
  if (!failure_.ok() || now < FrameDueBy()) return;
  const bool had_frames = state_ != SourceState::kConnecting;
  failure_ = absl::UnavailableError(
      had_frames ? absl::StrCat("no frame within ", Seconds(Patience()), " s")
                 : absl::StrCat("no first frame within ", Seconds(limits_.first_frame), " s"));
}

void SessionMachine::Enter(SourceState to, absl::Status cause) {
  state_ = to;
  cause_ = std::move(cause);
  transitions_.push_back({.to = state_, .cause = cause_});
}

void SessionMachine::OnFrame(nanoseconds now) {
  if (!InSession()) return;
  if (state_ == SourceState::kConnecting) {
    first_frame_at_ = now;
  } else {
    const nanoseconds interval = now - last_frame_at_;
    rhythm_.Add(interval, /*stalled=*/interval >= Patience() / 2);
  }
  if (state_ != SourceState::kStreaming) {
    streaming_since_ = now;
    Enter(SourceState::kStreaming, absl::OkStatus());
  }
  last_frame_at_ = now;
}

bool SessionMachine::holds() const {
  return state_ == SourceState::kStreaming &&
         last_frame_at_ - streaming_since_ >= limits_.healthy_after;
}

void SessionMachine::OnFailure(absl::Status cause) {
  MILLRACE_CHECK(!cause.ok());
  if (InSession() && failure_.ok()) failure_ = std::move(cause);
}

SessionMachine::Decision SessionMachine::Begin(nanoseconds now) {
  Enter(SourceState::kConnecting, cause_);
  failure_ = absl::OkStatus();
  rhythm_.Restart();
  first_frame_due_by_ = now + limits_.first_frame;
  ++sessions_;
  return {.step = Step::kBegin, .until = now};
}

SessionMachine::Decision SessionMachine::End(nanoseconds now) {
  const bool healthy = state_ != SourceState::kConnecting &&
                       last_frame_at_ - first_frame_at_ >= limits_.healthy_after;
  if (healthy) backoff_.Reset();
  Enter(SourceState::kBackingOff, std::exchange(failure_, absl::OkStatus()));
  retry_at_ = now + backoff_.Next();
  return {.step = Step::kEnd, .until = now};
}

}  // namespace millrace::ingest
