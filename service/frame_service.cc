#include "service/frame_service.h"

#include <memory>
#include <utility>

#include "service/push_call.h"

namespace millrace::service {

grpc::ServerBidiReactor<v1::PushRequest, v1::PushResponse>* FrameService::Push(
    grpc::CallbackServerContext* context) {
  return guard_.Both<v1::PushRequest, v1::PushResponse>(*context, "Push", [&] {
    auto call = std::make_shared<PushCall>(streams_, subscribers_);
    PushCall* const reactor = call.get();
    subscribers_.Add(std::move(call));
    reactor->Start();
    return reactor;
  });
}

}  // namespace millrace::service
