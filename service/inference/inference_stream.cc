#include "service/inference/inference_stream.h"

#include <array>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error_reason.h"
#include "base/status.h"
#include "service/rpc/caught.h"
#include "service/rpc/parse.h"
#include "service/wire/wire_field.h"
#include "service/wire/wire_inference.h"

namespace millrace::service {

void InferenceStream::Read() {
  {
    const MutexLock lock(reading_);
    if (!std::exchange(may_read_, false)) return;
  }
  StartRead(&request_);
}

// After Ending(), no call would release a new reader. So the request is ignored then.
void InferenceStream::OnReadDone(bool ok) {
  const grpc::ByteBuffer bytes = std::exchange(request_, grpc::ByteBuffer());
  {
    const MutexLock lock(reading_);
    absl::Status subscribed;
    if (ok && !let_go_) subscribed = Take(bytes);
    may_read_ = ok && !let_go_ && subscribed.ok();
    if (!may_read_ && !end_) end_ = subscribed;
  }
  Pump();
}

absl::Status InferenceStream::Take(const grpc::ByteBuffer& bytes) {
  if (bytes.Length() > kMaxBytesOfNames) {
    return absl::InvalidArgumentError(
        absl::StrCat("this request has ", bytes.Length(), " bytes; one that subscribes may have ",
                     kMaxBytesOfNames, ". Pictures of your own go to ModelInfer"));
  }
  // The lock is held, but clang's analysis does not see it through Caught().
  return Caught([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS -> absl::Status {
    MILLRACE_ASSIGN_OR_RETURN(const auto request, Parse<inference::ModelInferRequest>(bytes));
    return Subscribe(request);
  });
}

absl::Status InferenceStream::Subscribe(const inference::ModelInferRequest& request) {
  if (reader_ != nullptr) {
    return WithReason("ALREADY_SUBSCRIBED", {},
                      absl::FailedPreconditionError(
                          "this call is subscribed already; begin another one for another model"));
  }
  if (request.inputs_size() > 0 || request.raw_input_contents_size() > 0) {
    return InvalidFields({{"inputs",
                           "must be empty: a call of ModelStreamInfer subscribes to what the model "
                           "says of its camera. Pictures of your own go to ModelInfer"}});
  }
  MILLRACE_RETURN_IF_ERROR(CheckId(request.id()));
  MILLRACE_RETURN_IF_ERROR(CheckModelVersion(request.model_version()));
  MILLRACE_ASSIGN_OR_RETURN(const v1::SubscribeRequest subscription, ToSubscription(request));
  MILLRACE_ASSIGN_OR_RETURN(const SharedStream served, streams_.Find(subscription.stream()));
  MILLRACE_ASSIGN_OR_RETURN(SubscriptionOptions options, ToOptions(subscription, *served));
  MILLRACE_ASSIGN_OR_RETURN(options.parts, ToParts(request, *served->stream));
  reader_ = std::make_unique<PredictionReader>(hubs_.Of(served), options);
  Follow(&reader_->hub());
  id_ = request.id();
  return absl::OkStatus();
}

InferenceStream::Step InferenceStream::Next(Due& due, absl::Status& end) {
  const MutexLock lock(reading_);
  if (end_) {
    end = *end_;
    return Step::kEnd;
  }
  if (reader_ == nullptr) return Step::kNothing;
  std::optional<PredictionReader::Next> next = reader_->Read();
  if (next) {
    due = {.next = *std::move(next), .reader = reader_.get(), .id = id_};
    return Step::kMessage;
  }
  const auto& ended = reader_->end();
  if (!ended) return Step::kNothing;
  end = *ended;
  return Step::kEnd;
}

// The message is made without the lock: it has megabytes, unless another subscriber's call made it
// already.
InferenceStream::Step InferenceStream::Advance(grpc::ByteBuffer& message, absl::Status& end) {
  Due due;
  const Step step = Next(due, end);
  if (step != Step::kMessage) return step;
  inference::ModelInferResponse own;
  own.set_id(due.id);
  auto& parameters = *own.mutable_parameters();
  parameters["run_id"].set_string_param(due.reader->hub().served().run_id);
  parameters["sequence"].set_int64_param(static_cast<std::int64_t>(due.next.sequence));
  parameters["dropped"].set_int64_param(static_cast<std::int64_t>(due.next.dropped));
  parameters["dropped_total"].set_int64_param(static_cast<std::int64_t>(due.next.dropped_total));
  const grpc::Slice shared = due.reader->Bytes(due.next);
  const grpc::Slice rest(own.SerializeAsString());
  const std::array slices = {
      FieldHead(inference::ModelStreamInferResponse::kInferResponseFieldNumber,
                shared.size() + rest.size()),
      shared, rest};
  message = grpc::ByteBuffer(slices.data(), slices.size());
  return Step::kMessage;
}

void InferenceStream::Written() {
  const MutexLock lock(reading_);
  reader_->Sent();
}

absl::Status InferenceStream::Stalled(std::chrono::nanoseconds limit) {
  const MutexLock lock(reading_);
  if (reader_ == nullptr) return SlowSubscriber("", "client", TookNothing(limit), "read on");
  return reader_->Stalled(limit);
}

bool InferenceStream::Ending() {
  const MutexLock lock(reading_);
  let_go_ = true;
  if (reader_ != nullptr) reader_->LetGo();
  return true;
}

void InferenceStream::Over() {
  const MutexLock lock(reading_);
  if (reader_ != nullptr) reader_->Over();
}

}  // namespace millrace::service
