#include "service/api/frame_service.h"

#include <memory>

#include "service/api/push_call.h"

namespace millrace::service {

Guard::BidiReactor* FrameService::Push(grpc::CallbackServerContext* context) {
  return guard_.Bidi(*context, "Push", [&]() -> absl::StatusOr<Guard::BidiReactor*> {
    return PushCall::Begin(std::make_shared<PushCall>(streams_, calls_), *context);
  });
}

}  // namespace millrace::service
