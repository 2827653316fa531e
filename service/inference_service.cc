#include "service/inference_service.h"

#include <memory>
#include <utility>

#include "base/clock.h"
#include "base/status.h"
#include "millrace/v1/prediction_service.grpc.pb.h"
#include "service/client_sample.h"
#include "service/inference_stream.h"
#include "service/parsed_call.h"
#include "service/refusal.h"
#include "service/wire_inference.h"
#include "service/wire_inference_response.h"

namespace millrace::service {

using std::chrono::nanoseconds;

InferenceService::InferenceService(const Parts& parts)
    : parts_(parts),
      guard_(inference::GRPCInferenceService::service_full_name(), parts.admission),
      feeds_(parts.subscribers, InferenceBytes) {}

InferenceService::~InferenceService() = default;

grpc::ServerUnaryReactor* InferenceService::ServerLive(
    grpc::CallbackServerContext* context, const inference::ServerLiveRequest* /*request*/,
    inference::ServerLiveResponse* response) {
  return guard_.One(*context, "ServerLive", [&] {
    response->set_live(parts_.liveness.Judge().alive);
    return EndCall(*context, absl::OkStatus());
  });
}

grpc::ServerUnaryReactor* InferenceService::ServerReady(
    grpc::CallbackServerContext* context, const inference::ServerReadyRequest* /*request*/,
    inference::ServerReadyResponse* response) {
  return guard_.One(*context, "ServerReady", [&] {
    const std::string name = v1::PredictionService::service_full_name();
    response->set_ready(parts_.statuses.Find(name).value_or(false));
    return EndCall(*context, absl::OkStatus());
  });
}

grpc::ServerUnaryReactor* InferenceService::ModelReady(grpc::CallbackServerContext* context,
                                                       const inference::ModelReadyRequest* request,
                                                       inference::ModelReadyResponse* response) {
  return guard_.One(*context, "ModelReady", [&] {
    response->set_ready(IsReady(*request));
    return EndCall(*context, absl::OkStatus());
  });
}

bool InferenceService::IsReady(const inference::ModelReadyRequest& request) const {
  const absl::StatusOr<SharedStream> served = parts_.streams.Find(request.name());
  return served.ok() && CheckModelVersion(request.version()).ok() &&
         (*served)->stream->Snapshot().learner.ok();
}

grpc::ServerUnaryReactor* InferenceService::ServerMetadata(
    grpc::CallbackServerContext* context, const inference::ServerMetadataRequest* /*request*/,
    inference::ServerMetadataResponse* response) {
  return guard_.One(*context, "ServerMetadata", [&] {
    response->set_name("millrace");
    response->set_version(MILLRACE_VERSION);
    return EndCall(*context, absl::OkStatus());
  });
}

grpc::ServerUnaryReactor* InferenceService::ModelMetadata(
    grpc::CallbackServerContext* context, const inference::ModelMetadataRequest* request,
    inference::ModelMetadataResponse* response) {
  return guard_.One(*context, "ModelMetadata",
                    [&] { return EndCall(*context, Describe(*request, *response)); });
}

absl::Status InferenceService::Describe(const inference::ModelMetadataRequest& request,
                                        inference::ModelMetadataResponse& response) const {
  MILLRACE_ASSIGN_OR_RETURN(const SharedStream served, parts_.streams.Find(request.name()));
  MILLRACE_RETURN_IF_ERROR(CheckModelVersion(request.version()));
  ToMetadata(*served->stream, response);
  return absl::OkStatus();
}

grpc::ServerUnaryReactor* InferenceService::ModelInfer(grpc::CallbackServerContext* context,
                                                       const grpc::ByteBuffer* request,
                                                       grpc::ByteBuffer* response) {
  const nanoseconds came = MonotonicClock().Now();
  return guard_.One(*context, "ModelInfer", [&] {
    return BeginParsedCall<inference::ModelInferRequest>(
        parts_.questions, request, response,
        [=, this](const inference::ModelInferRequest& parsed, const std::stop_token& stop) {
          return Infer(parsed, came, stop);
        });
  });
}

absl::StatusOr<inference::ModelInferResponse> InferenceService::Infer(
    const inference::ModelInferRequest& request, nanoseconds came,
    const std::stop_token& stop) const {
  MILLRACE_ASSIGN_OR_RETURN(const SharedStream served, parts_.streams.Find(request.model_name()));
  MILLRACE_RETURN_IF_ERROR(CheckId(request.id()));
  MILLRACE_RETURN_IF_ERROR(CheckModelVersion(request.model_version()));
  CameraStream& stream = *served->stream;
  MILLRACE_ASSIGN_OR_RETURN(const Carried carried, ToCarried(request, stream));
  MILLRACE_ASSIGN_OR_RETURN(const InferenceSample sample, ToSample(request));
  MILLRACE_ASSIGN_OR_RETURN(const Prediction made,
                            PredictSample(stream, sample.pictures, came, stop));
  inference::ModelInferResponse response;
  ToInference(made, carried, response);
  response.set_id(request.id());
  return response;
}

InferenceService::Stream* InferenceService::ModelStreamInfer(grpc::CallbackServerContext* context) {
  return guard_.Both<grpc::ByteBuffer, grpc::ByteBuffer>(
      *context, "ModelStreamInfer", [&]() -> Stream* {
        auto call = std::make_shared<InferenceStream>(parts_.streams, feeds_, parts_.subscribers);
        InferenceStream* const listening = call.get();
        Stream* const served = InferenceStream::Begin(std::move(call), *context);
        if (served == listening) listening->Listen();
        return served;
      });
}

}  // namespace millrace::service
