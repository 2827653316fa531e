#include "service/label_service.h"

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "service/error_reason.h"
#include "service/status.h"
#include "service/wire_labels.h"

namespace millrace::service {
namespace {

// Each has an outcome in words; a response must fit into what clients take, 4 MiB.
constexpr int kMostLabels = 4096;

absl::Status Add(const Streams& streams, const v1::AddLabelsRequest& request,
                 v1::AddLabelsResponse& response) {
  MILLRACE_ASSIGN_OR_RETURN(const SharedStream served, streams.Find(request.stream()));
  CameraStream* const stream = served->stream.get();
  MILLRACE_RETURN_IF_ERROR(stream->TakesLabels());
  if (request.labels_size() > kMostLabels) {
    return InvalidFields(
        {{"labels", absl::StrCat("has ", request.labels_size(), "; send at most ", kMostLabels,
                                 " at once. None of these was taken")}});
  }
  for (const v1::FrameLabel& label : request.labels()) {
    absl::Status added = stream->Label(label.frame_number(), ToLabel(label));
    if (absl::IsFailedPrecondition(added)) return added;
    v1::LabelOutcome& outcome = *response.add_outcomes();
    outcome.set_frame_number(label.frame_number());
    ToMessage(added, outcome);
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
