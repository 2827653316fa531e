#include "service/api/label_service.h"

#include <stop_token>

#include "absl/strings/str_cat.h"
#include "base/error_reason.h"
#include "base/status.h"
#include "service/rpc/parse.h"
#include "service/wire/wire_labels.h"

namespace millrace::service {
namespace {

// Each label has an outcome with text. A response must fit into the clients' limit of 4 MiB.
constexpr int kMaxLabels = 4096;

absl::StatusOr<v1::AddLabelsResponse> Add(const StreamRegistry& streams,
                                          const v1::AddLabelsRequest& request) {
  MILLRACE_ASSIGN_OR_RETURN(const SharedStream served, streams.Find(request.stream()));
  CameraStream* const stream = served->stream.get();
  MILLRACE_RETURN_IF_ERROR(stream->TakesLabels());
  if (request.labels_size() > kMaxLabels) {
    return InvalidFields({{"labels", absl::StrCat("has ", request.labels_size(), "; send at most ",
                                                  kMaxLabels, " at once. No label was taken")}});
  }
  v1::AddLabelsResponse response;
  for (const v1::FrameLabel& label : request.labels()) {
    absl::Status added = stream->Label(label.frame_number(), ToLabel(label));
    if (absl::IsFailedPrecondition(added)) return added;
    v1::LabelOutcome& outcome = *response.add_outcomes();
    outcome.set_frame_number(label.frame_number());
    ToMessage(added, outcome);
  }
  return response;
}

}  // namespace

grpc::ServerUnaryReactor* LabelService::AddLabels(grpc::CallbackServerContext* context,
                                                  const grpc::ByteBuffer* request,
                                                  grpc::ByteBuffer* response) {
  return guard_.UnaryOnThread<v1::AddLabelsRequest>(
      {context, request, response}, "AddLabels", labels_,
      [this](const auto& asked, const std::stop_token& /*stop*/) { return Add(streams_, asked); },
      kMaxBytesOfParts);
}

}  // namespace millrace::service
