#include "ingest/session_machine.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace millrace::ingest {
namespace {

using std::chrono::nanoseconds;

double Seconds(nanoseconds time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

SessionMachine::SessionMachine(const SessionLimits& limits, const Backoff& backoff)
    : limits_(limits), backoff_(backoff), between_frames_(limits.between_frames) {}

SessionMachine::Decision SessionMachine::Decide(nanoseconds now) {
  if (!InSession()) {
    return now >= retry_at_ ? Begin(now) : Decision{.step = Step::kWait, .until = retry_at_};
  }
  Judge(now);
  if (!failure_.ok()) return End(now);
  const bool streams = state_ == SourceState::kStreaming;
  return {.step = Step::kWait, .until = streams ? last_frame_at_ + StalledAfter() : frame_due_by_};
}

// A camera of one frame a second that does not say so must not seem to stall between any two.
nanoseconds SessionMachine::StalledAfter() const {
  return std::min(between_frames_, std::max(between_frames_ / 2, 3 * interval_));
}

// Of a session: by how old its last frame is.
void SessionMachine::Judge(nanoseconds now) {
  if (state_ == SourceState::kStreaming && now >= last_frame_at_ + StalledAfter()) {
    Enter(SourceState::kStalled,
          absl::UnavailableError(absl::StrCat("no frame for ", Seconds(StalledAfter()), " s")));
  }
  if (!failure_.ok() || now < frame_due_by_) return;
  const bool had_frames = state_ != SourceState::kConnecting;
  failure_ = absl::UnavailableError(
      had_frames ? absl::StrCat("no frame within ", Seconds(between_frames_), " s")
                 : absl::StrCat("no first frame within ", Seconds(limits_.first_frame), " s"));
}

void SessionMachine::Enter(SourceState to, absl::Status cause) {
  state_ = to;
  cause_ = std::move(cause);
  transitions_.push_back({.to = state_, .cause = cause_});
}

void SessionMachine::OnFrame(nanoseconds now) {
  if (!InSession()) return;
  if (state_ == SourceState::kConnecting) first_frame_at_ = last_frame_at_ = now;
  interval_ = now - last_frame_at_;
  if (state_ != SourceState::kStreaming) Enter(SourceState::kStreaming, absl::OkStatus());
  last_frame_at_ = now;
  frame_due_by_ = now + between_frames_;
}

void SessionMachine::OnFailure(absl::Status cause) {
  MILLRACE_CHECK(!cause.ok());
  if (InSession() && failure_.ok()) failure_ = std::move(cause);
}

void SessionMachine::ExpectFrameEvery(nanoseconds interval) {
  between_frames_ = std::max(limits_.between_frames, interval * 5 / 2);
  if (state_ != SourceState::kConnecting) frame_due_by_ = last_frame_at_ + between_frames_;
}

SessionMachine::Decision SessionMachine::Begin(nanoseconds now) {
  Enter(SourceState::kConnecting, cause_);
  failure_ = absl::OkStatus();
  between_frames_ = limits_.between_frames;
  interval_ = nanoseconds(0);
  frame_due_by_ = now + limits_.first_frame;
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
