#include "service/guarded_services.h"

namespace millrace::service {

using Context = grpc::CallbackServerContext;

absl::Status Guard::Admit(const Context& context, std::string_view method) const {
  CallFacts call = {.method = method, .peer = context.peer(), .authorization = {}};
  const auto [first, last] = context.client_metadata().equal_range("authorization");
  for (auto entry = first; entry != last; ++entry) {
    call.authorization.emplace_back(entry->second.data(), entry->second.size());
  }
  return admission_.Admit(call);
}

grpc::ServerWriteReactor<v1::SubscribeResponse>* GuardedPredictionService::Subscribe(
    Context* context, const v1::SubscribeRequest* request) {
  return guard_.Many<v1::SubscribeResponse>(*context, "millrace.v1.PredictionService/Subscribe",
                                            [&] { return service_.Subscribe(context, request); });
}

grpc::ServerUnaryReactor* GuardedPredictionService::GetLatest(Context* context,
                                                              const v1::GetLatestRequest* request,
                                                              v1::GetLatestResponse* response) {
  return guard_.One(*context, "millrace.v1.PredictionService/GetLatest",
                    [&] { return service_.GetLatest(context, request, response); });
}

grpc::ServerUnaryReactor* GuardedStreamService::ListStreams(Context* context,
                                                            const v1::ListStreamsRequest* request,
                                                            v1::ListStreamsResponse* response) {
  return guard_.One(*context, "millrace.v1.StreamService/ListStreams",
                    [&] { return service_.ListStreams(context, request, response); });
}

grpc::ServerUnaryReactor* GuardedStreamService::GetStream(Context* context,
                                                          const v1::GetStreamRequest* request,
                                                          v1::GetStreamResponse* response) {
  return guard_.One(*context, "millrace.v1.StreamService/GetStream",
                    [&] { return service_.GetStream(context, request, response); });
}

grpc::ServerUnaryReactor* GuardedLabelService::AddLabels(Context* context,
                                                         const v1::AddLabelsRequest* request,
                                                         v1::AddLabelsResponse* response) {
  return guard_.One(*context, "millrace.v1.LabelService/AddLabels",
                    [&] { return service_.AddLabels(context, request, response); });
}

}  // namespace millrace::service
