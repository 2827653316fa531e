#include "service/label_service.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "service/status.h"

namespace millrace::service {
namespace {

// Each has an outcome in words; a response must fit into what clients take, 4 MiB.
constexpr int kMostLabels = 4096;

ClientLabel LabelOf(const v1::FrameLabel& message) {
  switch (message.label_case()) {
    case v1::FrameLabel::kClassNumber:
      return std::int64_t{message.class_number()};
    case v1::FrameLabel::kClassName:
      return message.class_name();
    case v1::FrameLabel::kValues:
    case v1::FrameLabel::LABEL_NOT_SET:
      break;
  }
  const auto& values = message.values().values();
  return std::vector<float>(values.begin(), values.end());
}

v1::LabelResult ResultOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return v1::LABEL_RESULT_ADDED;
    case absl::StatusCode::kOutOfRange:
      return v1::LABEL_RESULT_TOO_LATE;
    case absl::StatusCode::kNotFound:
      return v1::LABEL_RESULT_UNKNOWN_FRAME;
    case absl::StatusCode::kAlreadyExists:
      return v1::LABEL_RESULT_ALREADY_LABELLED;
    case absl::StatusCode::kInvalidArgument:
      return v1::LABEL_RESULT_INVALID;
    default:
      return v1::LABEL_RESULT_UNSPECIFIED;
  }
}

absl::Status Add(const Streams& streams, const v1::AddLabelsRequest& request,
                 v1::AddLabelsResponse& response) {
  MILLRACE_ASSIGN_OR_RETURN(const SharedStream served, streams.Find(request.stream()));
  CameraStream* const stream = served->stream.get();
  MILLRACE_RETURN_IF_ERROR(stream->TakesLabels());
  if (request.labels_size() > kMostLabels) {
    return absl::InvalidArgumentError(absl::StrCat("the request has ", request.labels_size(),
                                                   " labels; send at most ", kMostLabels,
                                                   " at once. None of these was taken"));
  }
  for (const v1::FrameLabel& label : request.labels()) {
    absl::Status added = stream->Label(label.frame_number(), LabelOf(label));
    if (absl::IsFailedPrecondition(added)) return added;
    v1::LabelOutcome& outcome = *response.add_outcomes();
    outcome.set_frame_number(label.frame_number());
    outcome.set_result(ResultOf(added));
    outcome.set_message(std::string(added.message()));
  }
  return absl::OkStatus();
}

}  // namespace

grpc::ServerUnaryReactor* LabelService::AddLabels(grpc::CallbackServerContext* context,
                                                  const v1::AddLabelsRequest* request,
                                                  v1::AddLabelsResponse* response) {
  return guard_.One(*context, "AddLabels", [&]() -> grpc::ServerUnaryReactor* {
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(ToGrpcStatus(Add(streams_, *request, *response)));
    return reactor;
  });
}

}  // namespace millrace::service
