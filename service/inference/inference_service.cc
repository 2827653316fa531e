#include "service/inference/inference_service.h"

#include <memory>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/status.h"
#include "millrace/v1/prediction_service.grpc.pb.h"
#include "service/api/client_sample.h"
#include "service/inference/inference_stream.h"
#include "service/inference/wire_inference_response.h"
#include "service/rpc/parse.h"
#include "service/wire/wire_inference.h"

namespace millrace::service {

using std::chrono::nanoseconds;

InferenceService::InferenceService(const Parts& parts)
    : parts_(parts),
      guard_(inference::GRPCInferenceService::service_full_name(), parts.admission),
      hubs_(parts.calls, InferenceBytes) {}

InferenceService::~InferenceService() = default;

grpc::ServerUnaryReactor* InferenceService::ServerLive(grpc::CallbackServerContext* context,
                                                       const grpc::ByteBuffer* request,
                                                       grpc::ByteBuffer* response) {
  return guard_.Unary<inference::ServerLiveRequest>(
      {context, request, response}, "ServerLive",
      [this](const auto& /*asked*/) -> absl::StatusOr<inference::ServerLiveResponse> {
        inference::ServerLiveResponse answer;
        answer.set_live(parts_.liveness.Judge().alive);
        return answer;
      });
}

grpc::ServerUnaryReactor* InferenceService::ServerReady(grpc::CallbackServerContext* context,
                                                        const grpc::ByteBuffer* request,
                                                        grpc::ByteBuffer* response) {
  return guard_.Unary<inference::ServerReadyRequest>(
      {context, request, response}, "ServerReady",
      [this](const auto& /*asked*/) -> absl::StatusOr<inference::ServerReadyResponse> {
        inference::ServerReadyResponse answer;
        const std::string name = v1::PredictionService::service_full_name();
        answer.set_ready(parts_.statuses.Find(name).value_or(false));
        return answer;
      });
}

grpc::ServerUnaryReactor* InferenceService::ModelReady(grpc::CallbackServerContext* context,
                                                       const grpc::ByteBuffer* request,
                                                       grpc::ByteBuffer* response) {
  return guard_.Unary<inference::ModelReadyRequest>(
      {context, request, response}, "ModelReady",
      [this](const auto& asked) -> absl::StatusOr<inference::ModelReadyResponse> {
        inference::ModelReadyResponse answer;
        answer.set_ready(IsReady(asked));
        return answer;
      });
}

bool InferenceService::IsReady(const inference::ModelReadyRequest& request) const {
  const absl::StatusOr<SharedStream> served = parts_.streams.Find(request.name());
  return served.ok() && CheckModelVersion(request.version()).ok() &&
         (*served)->stream->Snapshot().learner.ok();
}

grpc::ServerUnaryReactor* InferenceService::ServerMetadata(grpc::CallbackServerContext* context,
                                                           const grpc::ByteBuffer* request,
                                                           grpc::ByteBuffer* response) {
  return guard_.Unary<inference::ServerMetadataRequest>(
      {context, request, response}, "ServerMetadata",
      [](const auto& /*asked*/) -> absl::StatusOr<inference::ServerMetadataResponse> {
        inference::ServerMetadataResponse answer;
        answer.set_name("millrace");
        answer.set_version(MILLRACE_VERSION);
        return answer;
      });
}

grpc::ServerUnaryReactor* InferenceService::ModelMetadata(grpc::CallbackServerContext* context,
                                                          const grpc::ByteBuffer* request,
                                                          grpc::ByteBuffer* response) {
  return guard_.Unary<inference::ModelMetadataRequest>(
      {context, request, response}, "ModelMetadata",
      [this](const auto& asked) { return Describe(asked); });
}

absl::StatusOr<inference::ModelMetadataResponse> InferenceService::Describe(
    const inference::ModelMetadataRequest& request) const {
  MILLRACE_ASSIGN_OR_RETURN(const SharedStream served, parts_.streams.Find(request.name()));
  MILLRACE_RETURN_IF_ERROR(CheckModelVersion(request.version()));
  inference::ModelMetadataResponse response;
  ToMetadata(*served->stream, response);
  return response;
}

grpc::ServerUnaryReactor* InferenceService::ModelInfer(grpc::CallbackServerContext* context,
                                                       const grpc::ByteBuffer* request,
                                                       grpc::ByteBuffer* response) {
  return guard_.UnaryOnThread<inference::ModelInferRequest>(
      {context, request, response}, "ModelInfer", parts_.questions,
      [this, came = MonotonicClock().Now()](const auto& asked, const std::stop_token& stop) {
        return Infer(asked, came, stop);
      },
      kMaxBytesOfParts);
}

absl::StatusOr<inference::ModelInferResponse> InferenceService::Infer(
    const inference::ModelInferRequest& request, nanoseconds came,
    const std::stop_token& stop) const {
  MILLRACE_ASSIGN_OR_RETURN(const SharedStream served, parts_.streams.Find(request.model_name()));
  MILLRACE_RETURN_IF_ERROR(CheckId(request.id()));
  MILLRACE_RETURN_IF_ERROR(CheckModelVersion(request.model_version()));
  CameraStream& stream = *served->stream;
  MILLRACE_ASSIGN_OR_RETURN(const PredictionParts parts, ToParts(request, stream));
  MILLRACE_ASSIGN_OR_RETURN(const InferenceSample asked, ToSample(request));
  MILLRACE_ASSIGN_OR_RETURN(const ClientSample sample, MakeSample(stream, asked.pictures, stop));
  MILLRACE_ASSIGN_OR_RETURN(const Prediction made, PredictSample(stream, sample, came));
  inference::ModelInferResponse response;
  ToInference(made, parts, response);
  response.set_id(request.id());
  return response;
}

Guard::BidiReactor* InferenceService::ModelStreamInfer(grpc::CallbackServerContext* context) {
  return guard_.Bidi(*context, "ModelStreamInfer", [&]() -> absl::StatusOr<Guard::BidiReactor*> {
    return InferenceStream::Begin(
        std::make_shared<InferenceStream>(parts_.streams, hubs_, parts_.calls), *context);
  });
}

}  // namespace millrace::service
