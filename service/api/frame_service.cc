#include "service/api/frame_service.h"

#include <memory>

#include "base/status.h"
#include "service/api/push_call.h"

namespace millrace::service {

Guard::Both* FrameService::Push(grpc::CallbackServerContext* context) {
  return guard_.Admitted<Guard::Both>(*context, "Push", [&]() -> absl::StatusOr<Guard::Both*> {
    const auto call = std::make_shared<PushCall>(streams_, subscribers_, *context);
    MILLRACE_RETURN_IF_ERROR(subscribers_.Add(call));
    call->Start();
    return call.get();
  });
}

}  // namespace millrace::service
