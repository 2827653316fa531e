#include "service/frame_service.h"

#include <memory>
#include <utility>

#include "service/push_call.h"
#include "service/refusal.h"

namespace millrace::service {

grpc::ServerBidiReactor<v1::PushRequest, v1::PushResponse>* FrameService::Push(
    grpc::CallbackServerContext* context) {
  using Reactor = grpc::ServerBidiReactor<v1::PushRequest, v1::PushResponse>;
  return guard_.Both<v1::PushRequest, v1::PushResponse>(*context, "Push", [&]() -> Reactor* {
    const auto call = std::make_shared<PushCall>(streams_, subscribers_, *context);
    const absl::Status kept = subscribers_.Add(call);
    if (!kept.ok()) return new RefusedExchange<v1::PushRequest, v1::PushResponse>(kept);
    call->Start();
    return call.get();
  });
}

}  // namespace millrace::service
