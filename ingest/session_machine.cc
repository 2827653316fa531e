#include "ingest/session_machine.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace millrace::ingest {
namespace {

using std::chrono::nanoseconds;

absl::Status SilentFor(nanoseconds limit, std::string_view kind) {
  const double seconds = std::chrono::duration<double>(limit).count();
  return absl::UnavailableError(absl::StrCat("no ", std::string(kind), " within ", seconds, " s"));
}

}  // namespace

SessionMachine::SessionMachine(const SessionLimits& limits, const Backoff& backoff)
    : limits_(limits), backoff_(backoff), between_frames_(limits.between_frames) {}

SessionMachine::Decision SessionMachine::Decide(nanoseconds now) {
  if (!InSession()) {
    return now >= retry_at_ ? Begin(now) : Decision{.step = Step::kWait, .until = retry_at_};
  }
  if (failure_.ok() && now >= frame_due_by_) {
    failure_ = state_ == SourceState::kStreaming ? SilentFor(between_frames_, "frame")
                                                 : SilentFor(limits_.first_frame, "first frame");
  }
  return failure_.ok() ? Decision{.step = Step::kWait, .until = frame_due_by_} : End(now);
}

void SessionMachine::OnFrame(nanoseconds now) {
  if (!InSession()) return;
  if (state_ == SourceState::kConnecting) {
    state_ = SourceState::kStreaming;
    first_frame_at_ = now;
    cause_ = absl::OkStatus();
  }
  last_frame_at_ = now;
  frame_due_by_ = now + between_frames_;
}

void SessionMachine::OnFailure(absl::Status cause) {
  MILLRACE_CHECK(!cause.ok());
  if (InSession() && failure_.ok()) failure_ = std::move(cause);
}

void SessionMachine::ExpectFrameEvery(nanoseconds interval) {
  between_frames_ = std::max(limits_.between_frames, interval * 5 / 2);
  if (state_ == SourceState::kStreaming) frame_due_by_ = last_frame_at_ + between_frames_;
}

SessionMachine::Decision SessionMachine::Begin(nanoseconds now) {
  state_ = SourceState::kConnecting;
  failure_ = absl::OkStatus();
  between_frames_ = limits_.between_frames;
  frame_due_by_ = now + limits_.first_frame;
  ++sessions_;
  return {.step = Step::kBegin, .until = now};
}

SessionMachine::Decision SessionMachine::End(nanoseconds now) {
  const bool healthy = state_ == SourceState::kStreaming &&
                       last_frame_at_ - first_frame_at_ >= limits_.healthy_after;
  if (healthy) backoff_.Reset();
  state_ = SourceState::kBackingOff;
  cause_ = std::exchange(failure_, absl::OkStatus());
  retry_at_ = now + backoff_.Next();
  return {.step = Step::kEnd, .until = now};
}

}  // namespace millrace::ingest
