#include "service/api/frame_service.h"

#include <memory>

#include "service/api/push_call.h"

namespace millrace::service {

Guard::Both* FrameService::Push(grpc::CallbackServerContext* context) {
  return guard_.Admitted<Guard::Both>(*context, "Push", [&]() -> absl::StatusOr<Guard::Both*> {
    return PushCall::Begin(std::make_shared<PushCall>(streams_, subscribers_), *context);
  });
}

}  // namespace millrace::service
