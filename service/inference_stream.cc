#include "service/inference_stream.h"

#include <utility>

#include "base/status.h"
#include "service/error_reason.h"
#include "service/wire.h"
#include "service/wire_inference.h"

namespace millrace::service {

// Its end may come first: then nobody would let go of what a reader holds.
void InferenceStream::OnReadDone(bool ok) {
  bool go_on = false;
  {
    const MutexLock lock(reading_);
    absl::Status subscribed;
    if (ok && !let_go_) subscribed = Subscribe();
    go_on = ok && !let_go_ && subscribed.ok();
    if (!go_on && !end_) end_ = subscribed;
  }
  if (go_on) StartRead(&request_);
  Pump();
}

absl::Status InferenceStream::Subscribe() {
  if (reader_ != nullptr) {
    return Because("ALREADY_SUBSCRIBED", {},
                   absl::FailedPreconditionError(
                       "this call is subscribed already; begin another one for another model"));
  }
  if (request_.inputs_size() > 0 || request_.raw_input_contents_size() > 0) {
    return InvalidFields({{"inputs",
                           "must be empty: a call of ModelStreamInfer subscribes to what the model "
                           "says of its camera. Pictures of your own go to ModelInfer"}});
  }
  MILLRACE_RETURN_IF_ERROR(CheckId(request_.id()));
  MILLRACE_RETURN_IF_ERROR(CheckModelVersion(request_.model_version()));
  MILLRACE_ASSIGN_OR_RETURN(const v1::SubscribeRequest asked, ToSubscription(request_));
  MILLRACE_ASSIGN_OR_RETURN(const SharedStream served, streams_.Find(asked.stream()));
  MILLRACE_ASSIGN_OR_RETURN(PredictionReader::Options options,
                            PredictionReader::OptionsOf(asked, *served));
  MILLRACE_ASSIGN_OR_RETURN(options.carried, ToCarried(request_, *served->stream));
  reader_ = std::make_unique<PredictionReader>(feeds_.Of(served), options);
  id_ = request_.id();
  inference::ModelInferRequest().Swap(
      &request_);  // Clear() would keep its memory for the call's life.
  return absl::OkStatus();
}

InferenceStream::Step InferenceStream::Advance(inference::ModelStreamInferResponse& message,
                                               absl::Status& end) {
  const MutexLock lock(reading_);
  if (end_) {
    end = *end_;
    return Step::kEnd;
  }
  if (reader_ == nullptr) return Step::kNothing;
  const std::optional<PredictionReader::Next> next = reader_->Read();
  if (!next) {
    if (!reader_->end()) return Step::kNothing;
    end = *reader_->end();
    return Step::kEnd;
  }
  v1::Prediction prediction;
  ToMessage(*next->prediction, reader_->options().carried, prediction);
  message.Clear();
  inference::ModelInferResponse& response = *message.mutable_infer_response();
  ToInference(std::move(prediction), response);
  response.set_id(id_);
  auto& parameters = *response.mutable_parameters();
  parameters["run_id"].set_string_param(reader_->feed().served().run_id);
  parameters["sequence"].set_int64_param(static_cast<std::int64_t>(next->sequence));
  parameters["dropped"].set_int64_param(static_cast<std::int64_t>(next->dropped));
  parameters["dropped_total"].set_int64_param(static_cast<std::int64_t>(next->dropped_total));
  return Step::kMessage;
}

void InferenceStream::Written() {
  const MutexLock lock(reading_);
  reader_->Sent();
}

absl::Status InferenceStream::Stalled(std::chrono::nanoseconds limit) {
  const MutexLock lock(reading_);
  return reader_->Stalled(limit);
}

void InferenceStream::Ending() {
  const MutexLock lock(reading_);
  let_go_ = true;
  if (reader_ != nullptr) reader_->LetGo();
}

void InferenceStream::Over() {
  const MutexLock lock(reading_);
  if (reader_ != nullptr) reader_->Over();
}

}  // namespace millrace::service
