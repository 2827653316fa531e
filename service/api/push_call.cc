#include "service/api/push_call.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error_reason.h"
#include "base/status.h"
#include "service/rpc/caught.h"
#include "service/rpc/parse.h"
#include "service/wire/prediction_parts.h"
#include "service/wire/wire_labels.h"
#include "service/wire/wire_picture.h"
#include "service/wire/wire_states.h"

namespace millrace::service {
namespace {

/// With this number of unread outcomes, the call reads no more requests.
constexpr std::size_t kMaxUnread = 16;
constexpr std::size_t kMaxIdBytes = 256;

/// The label of a frame, if it has one.
absl::StatusOr<std::optional<ClientLabel>> LabelOf(const v1::PushedFrame& frame,
                                                   const CameraStream& stream) {
  if (!frame.has_label()) return std::nullopt;
  MILLRACE_RETURN_IF_ERROR(stream.TakesLabels());
  if (frame.label().frame_number() != 0) {
    return absl::InvalidArgumentError(
        "label.frame_number is set; leave it out, for the label is of this frame");
  }
  return ToLabel(frame.label());
}

}  // namespace

PushCall::PushCall(const StreamRegistry& streams, StreamingCalls& calls)
    : StreamWriter(calls),
      streams_(streams),
      outbox_(std::make_shared<PushOutbox>([this] { Wake(); })) {}

bool PushCall::MayOpen() {
  const MutexLock lock(mu_);
  return placed_;
}

// The response is made without the lock: it may have megabytes.
PushCall::Step PushCall::Advance(v1::PushResponse& message, absl::Status& end) {
  if (const std::optional<PushOutcome> outcome = outbox_->Take()) {
    ToResponse(*outcome, message);
    return Step::kMessage;
  }
  const MutexLock lock(mu_);
  if (reading_ == Reading::kHandling || outbox_->due() > 0) return Step::kNothing;
  const bool over = reading_ == Reading::kOver;
  if (failure_.ok() && !over && !outbox_->source_ended()) return Step::kNothing;
  end = failure_.ok() && !over ? SourceGone() : failure_;
  return Step::kEnd;
}

void PushCall::Read() {
  {
    const MutexLock lock(mu_);
    const bool go_on = failure_.ok() && !outbox_->source_ended();
    if (reading_ != Reading::kResting || !go_on || outbox_->known() >= kMaxUnread) return;
    reading_ = Reading::kReading;
  }
  StartRead(&received_);
}

// The place is free before the status is sent, so that the next client can push at once.
bool PushCall::Ending() {
  std::unique_ptr<ingest::Pusher> released;  // Without the lock.
  const MutexLock lock(mu_);
  if (reading_ == Reading::kHandling) return false;
  reading_ = Reading::kEnded;
  released = std::move(pusher_);
  changed_.notify_all();
  return true;
}

absl::Status PushCall::Stalled(std::chrono::nanoseconds limit) {
  return SlowSubscriber(stream_->config().name, "client", TookNothing(limit),
                        "read the outcomes while pushing, or ask for less by 'parts'");
}

// After Detach() no frame wakes this call.
void PushCall::Over() {
  outbox_->Detach();
  if (thread_.joinable()) thread_.join();  // It has ended, or ends now: see kEnded.
}

absl::Status PushCall::SourceGone() const {
  const std::string name = stream_->config().name;
  return WithReason("SOURCE_GONE", {{"stream", name}},
                    absl::UnavailableError(absl::StrCat(
                        "stream '", name,
                        "' takes no more frames from this call: it was stopped, deleted, or given "
                        "another source. Every frame that it took has been told of")));
}

void PushCall::OnReadDone(bool ok) {
  {
    const MutexLock lock(mu_);
    if (reading_ == Reading::kEnded) return;
    const absl::Status begun = ok ? BeginThread() : absl::OkStatus();
    if (begun.ok()) {
      reading_ = ok ? Reading::kHandling : Reading::kOver;
    } else {
      failure_ = begun;
      reading_ = Reading::kResting;
    }
    changed_.notify_all();
  }
  Pump();
}

absl::Status PushCall::BeginThread() {
  if (thread_.joinable()) return absl::OkStatus();
  return Caught([this] {
    thread_ = std::jthread([this] { Work(); });
    return absl::OkStatus();
  });
}

void PushCall::ToResponse(const PushOutcome& outcome, v1::PushResponse& response) const {
  response.set_id(outcome.id);
  if (outcome.frame_number) response.set_frame_number(*outcome.frame_number);
  if (outcome.prediction != nullptr) {
    ToMessage(*outcome.prediction, parts_, *response.mutable_prediction());
  } else if (outcome.dropped) {
    response.set_dropped(ToWire(*outcome.dropped));
  } else if (outcome.skipped) {
    response.mutable_skipped();
  } else {
    response.mutable_refused()->set_message(std::string(outcome.refused.message()));
  }
  if (outcome.label) {
    v1::LabelOutcome& label = *response.mutable_label();
    label.set_frame_number(response.frame_number());
    ToMessage(*outcome.label, label);
  }
}

void PushCall::Work() {
  for (;;) {
    {
      const MutexLock lock(mu_);
      while (reading_ != Reading::kHandling && reading_ != Reading::kEnded) changed_.wait(mu_);
      if (reading_ == Reading::kEnded) return;
    }
    const absl::Status handled = Handle();
    {
      const MutexLock lock(mu_);
      if (!handled.ok()) failure_ = handled;
      reading_ = Reading::kResting;
    }
    // Does not call Pump(): if the call ended here, this thread would wait for itself.
    Wake();
  }
}

absl::Status PushCall::Handle() {
  return Caught([this]() -> absl::Status {
    MILLRACE_ASSIGN_OR_RETURN(request_, Parse<v1::PushRequest>(received_));
    received_.Clear();
    MILLRACE_RETURN_IF_ERROR(CheckMemory(request_));
    if (pusher_ == nullptr) MILLRACE_RETURN_IF_ERROR(TakePlace());
    if (request_.has_frame()) Push(request_.frame());
    return absl::OkStatus();
  });
}

absl::Status PushCall::TakePlace() {
  MILLRACE_ASSIGN_OR_RETURN(stream_, streams_.Find(request_.stream()));
  const std::string name = stream_->config().name;
  const std::shared_ptr<ingest::PushEntry> entry = stream_->stream->push_entry();
  if (entry == nullptr) {
    return WithReason("NOT_PUSHED", {{"stream", name}},
                      absl::FailedPreconditionError(
                          absl::StrCat("the frames of stream '", name,
                                       "' come from its source; only a stream "
                                       "whose source.uri is push: takes frames from clients")));
  }
  absl::StatusOr<std::unique_ptr<ingest::Pusher>> pusher =
      entry->Enter([outbox = outbox_] { outbox->EndSource(); });
  if (absl::IsUnavailable(pusher.status())) return SourceGone();
  if (!pusher.ok()) {
    return WithReason("ALREADY_PUSHED", {{"stream", name}},
                      absl::FailedPreconditionError(
                          absl::StrCat("stream '", name, "': ", pusher.status().message())));
  }
  pusher_ = *std::move(pusher);
  parts_ = PartsOf(request_);
  const MutexLock lock(mu_);
  placed_ = true;
  return absl::OkStatus();
}

void PushCall::Push(const v1::PushedFrame& frame) {
  outbox_->Expect();
  const auto tell = [outbox = outbox_](PushOutcome outcome) { outbox->Notify(std::move(outcome)); };
  absl::StatusOr<std::optional<ClientLabel>> label = LabelOf(frame, *stream_->stream);
  absl::Status pushed = label.status();
  const auto ticket = std::make_shared<PushedFrame>(
      frame.id(), label.ok() ? *std::move(label) : std::nullopt, tell);
  if (pushed.ok()) pushed = PushInto(frame, ticket);
  if (!pushed.ok()) ticket->Refused(std::move(pushed));
}

absl::Status PushCall::PushInto(const v1::PushedFrame& frame,
                                const std::shared_ptr<PushedFrame>& ticket) {
  if (frame.id().size() > kMaxIdBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the id has ", frame.id().size(), " bytes; it may have ", kMaxIdBytes));
  }
  MILLRACE_ASSIGN_OR_RETURN(ingest::PushedPicture picture, ToPushed(frame));
  picture.loss_observer = ticket;
  MILLRACE_ASSIGN_OR_RETURN(const ingest::Pusher::Result result, pusher_->Push(picture));
  if (result == ingest::Pusher::Result::kSkipped) ticket->Skipped();
  return absl::OkStatus();
}

}  // namespace millrace::service
