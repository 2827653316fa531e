// A streaming call that ends before it begins.
#pragma once

#include <grpcpp/support/server_callback.h>

#include "service/status.h"

namespace millrace::service {

/// gRPC owns it until OnDone().
template <typename Message>
class RefusedCall final : public grpc::ServerWriteReactor<Message> {
 public:
  explicit RefusedCall(const absl::Status& status) { this->Finish(ToGrpcStatus(status)); }
  void OnDone() override { delete this; }
};

}  // namespace millrace::service
